-- A job is over, with what it did. No row means that it had been ended as lost before.
update dwh.maintenance
set ended_at = clock_timestamp(), lease_until = null, result = %(result)s, figures = %(figures)s, text = %(text)s
where id = %(id)s and ended_at is null
returning id
