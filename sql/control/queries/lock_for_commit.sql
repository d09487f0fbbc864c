-- The guards of the commit, all in the statement that locks the topic.
-- Returns one row; no row means that the caller's token was superseded, or that the cursor is not where the block begins.
-- Both guards matter: the token stops a paused worker that woke up too late, the position stops a second commit by the
-- worker that does hold the lease.
select t.id from dwh.topic t
where t.id = %(topic_id)s
  and (t.token = %(token)s or not %(check_token)s)
  and ((t.last_pos, t.last_id) = (%(last_pos)s, %(last_id)s) or not %(check_position)s)
for update
