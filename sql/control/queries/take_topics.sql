-- Take topics that a claim has locked and judged: a lease and the next token each, their block opened, one attempt begun.
-- Returns one row for each. The token rises, so that every earlier holder can change nothing any more; an open block's bounds
-- never change again; attempts that failed before are rolled back by this one, as nothing of them was published; the generations
-- of the inputs that were judged are noted, so that a rollback of an input fails the commit. Leases end by the database's clock (R6): `local_clock` is
-- null but in the test that shows what another one does.
with asked as (
    select * from unnest(%(topic_ids)s::bigint[], %(block_ids)s::bigint[], %(restatement_ids)s::bigint[],
                         %(module_versions)s::integer[], %(code_versions)s::text[], %(generations)s::text[], %(processing_codes)s::text[],
                         %(explanations)s::text[])
        as a (topic_id, block_id, restatement_id, module_version, code_version, generations, processing_code, explanation)
), taken as (
    update dwh.topic t
    set token = t.token + 1, lease_worker = %(worker)s,
        lease_until = coalesce(%(local_clock)s::timestamptz, clock_timestamp()) + make_interval(secs => %(lease)s)
    from asked a
    where t.id = a.topic_id
    returning t.id, t.token
), opened as (
    update dwh.block b set status = 'open' from asked a where b.id = a.block_id and b.status = 'planned'
), begun as (
    insert into dwh.execution (topic_id, block_id, restatement_id, attempt, token, worker, module_version, code_version, generations,
                               execution_code, processing_code, next_run_code, batch_instance_id, explanation)
    select a.topic_id, a.block_id, a.restatement_id,
           1 + case when a.restatement_id is null
                    then (select count(*) from dwh.execution e where e.block_id = a.block_id)
                    else (select count(*) from dwh.execution e where e.topic_id = a.topic_id and e.restatement_id = a.restatement_id) end,
           t.token, %(worker)s, a.module_version, a.code_version, a.generations::jsonb,
           'Executing', a.processing_code, 'Proceed', %(batch_instance)s, a.explanation
    from asked a join taken t on t.id = a.topic_id
    returning id, topic_id, attempt, token
), rolled_back as (
    update dwh.execution e set rolled_back_by = begun.id
    from begun where e.topic_id = begun.topic_id and e.execution_code = 'Failed' and e.rolled_back_by is null
)
select * from begun
