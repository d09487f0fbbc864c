-- A module or batch of a running instance has ended. No row means that the instance has ended.
update dwh.batch_instance
set succeeded = case when %(ok)s then array_append(succeeded, %(name)s) else succeeded end,
    failed = case when %(ok)s then failed else array_append(failed, %(name)s) end
where id = %(instance)s and execution_code = 'Executing'
returning id
