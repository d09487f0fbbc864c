-- One attempt begins. The generations of its inputs are noted, so that a rollback of an input fails its commit.
insert into dwh.execution (topic_id, block_id, restatement_id, attempt, token, worker, module_version, code_version, generations,
                           execution_code, processing_code, next_run_code)
select %(topic_id)s, %(block_id)s, %(restatement_id)s,
       1 + (select count(*) from dwh.execution e
            where e.block_id = %(block_id)s or e.restatement_id = %(restatement_id)s),
       %(token)s, %(worker)s, %(module_version)s, %(code_version)s,
       coalesce((select jsonb_object_agg(name, generation) from dwh.target where name = any (%(inputs)s)), '{}'),
       'Executing', 'Proceed', 'Proceed'
returning id, attempt, generations
