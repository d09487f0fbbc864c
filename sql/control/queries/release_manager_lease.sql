-- Let another one be the manager at once.
update dwh.manager set holder = null, until = null where holder = %(id)s
