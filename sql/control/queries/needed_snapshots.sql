-- Snapshots of a table that running attempts read or were forked from. No row means that nobody works on or from it.
select (e.inputs ->> %(table)s)::bigint as snapshot_id
from dwh.execution e where e.execution_code = 'Executing' and e.inputs ->> %(table)s is not null
union
select (e.branches -> %(table)s ->> 'fork')::bigint
from dwh.execution e where e.execution_code = 'Executing' and e.branches -> %(table)s ->> 'fork' is not null
