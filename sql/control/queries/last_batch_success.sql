-- When the newest successful run of a batch began; null where it never succeeded.
select (select started_at from dwh.batch_instance where batch = %(batch)s and execution_code = 'Succeeded' order by id desc limit 1) as began
