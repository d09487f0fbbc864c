-- Blocks of some topics whose base rows are to be counted again: the newest ones that nobody looked at since %(newest_before)s, then those
-- that were looked at longest ago, before %(before)s. Returns one row per block with what was noted of it; no row: all were looked at.
-- Left out: what was skipped, is stale or has expired, and ranges whose base rows were kept long enough and are gone.
with chosen as (
    select t.id, t.name, t.module, t.shard, m.base
    from dwh.topic t join dwh.module m on m.name = t.module
    where t.active and t.name = any(%(topics)s)
), expired as (
    select c.id, max(x.next_pos) as upto
    from chosen c join dwh.topic u on u.target = c.base
    join dwh.block x on x.topic_id = u.id and x.expired_at is not null and x.status <> 'void'
    group by c.id
), newest as (
    select n.id, 0 as turn from chosen c cross join lateral (
        select b.id from dwh.block b
        where b.topic_id = c.id and b.status = 'committed' order by b.next_pos desc, b.next_id desc limit %(newest)s) n
), oldest as (
    select o.block_id, 1 from chosen c cross join lateral (
        select s.block_id from dwh.load_stat s join dwh.block b on b.id = s.block_id
        left join expired x on x.id = c.id
        where s.topic_id = c.id and b.status = 'committed' and b.expired_at is null and (x.upto is null or b.last_pos >= x.upto)
          and (s.audited_at is null or s.audited_at < %(before)s)
        order by s.audited_at nulls first, s.block_id desc limit %(sample)s) o
), wanted as (
    select id, min(turn) as turn from (select * from newest union all select * from oldest) both_of_them group by id
)
select b.*, c.name as topic, c.module, c.shard, w.turn, s.execution_id, s.base_content, s.base_hashed, s.base_files, s.audited_at,
       s.audit_found, e.inputs -> c.base as snapshot
from wanted w
join dwh.block b on b.id = w.id
join chosen c on c.id = b.topic_id
join dwh.load_stat s on s.block_id = b.id
join dwh.execution e on e.id = s.execution_id
left join expired x on x.id = c.id
where b.kind = 'load' and b.status = 'committed' and b.expired_at is null and b.base_rows is not null
  and (x.upto is null or b.last_pos >= x.upto)
  and (s.audited_at is null or s.audited_at < case w.turn when 0 then %(newest_before)s else %(before)s end)
order by w.turn, s.audited_at nulls first, b.next_pos desc
