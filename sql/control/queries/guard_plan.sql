-- Whether nothing has happened to a topic since its cut was begun. The caller holds the topic's lock.
-- Returns one row; no row means that the token rose or another plan came first, or a tick has
-- declared the topic complete beyond the pos that events were to get: what was cut is thrown away.
select t.id from dwh.topic t
where t.id = %(topic_id)s and t.token = %(token)s and t.last_pos is not null
  and (%(above)s::timestamptz is null or t.watermark < %(above)s)   -- events get a pos that nobody was told to be complete
  and not exists (
      select from dwh.block b
      where b.topic_id = t.id and b.status <> 'void' and (b.next_pos, b.next_id) > (%(next_pos)s, %(next_id)s)
  )
  and exists (
      select from dwh.block b
      where b.tile = t.id and (b.next_pos, b.next_id) = (%(next_pos)s, %(next_id)s)
  )
