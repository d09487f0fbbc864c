-- The attempt that loaded a topic's newest block. No row means that nothing is loaded yet.
select s.execution_id from dwh.load_stat s join dwh.partition p on p.id = s.block_id
where p.topic = %(topic)s order by s.loaded_at desc limit 1
