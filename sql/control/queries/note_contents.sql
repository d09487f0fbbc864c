-- Note what the rows of some blocks hold, where nothing is noted of the execution that wrote them.
-- Returns nothing; what was noted before is never replaced, or damage would become the truth.
update dwh.load_stat s set content_hash = n.hash, content_of = n.execution
from unnest(%(blocks)s::bigint[], %(executions)s::bigint[], %(hashes)s::numeric[]) as n (block, execution, hash)
where s.block_id = n.block and s.execution_id = n.execution and s.content_of is distinct from s.execution_id
