-- The topic's first block that is not done. No row means that nothing is planned.
select * from dwh.block
where topic_id = %(topic_id)s and status in ('planned', 'open', 'parked')
order by seq limit 1
