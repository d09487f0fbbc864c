-- A begun or parked block is repeated at once, its failures forgotten, a check waived where one is named.
update dwh.block
set status = 'open', failures = 0, crashes = 0,
    waived = case when %(waive)s::text is null then waived else array_append(array_remove(waived, %(waive)s), %(waive)s) end
where id = %(block_id)s
