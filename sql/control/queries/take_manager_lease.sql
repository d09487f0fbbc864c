-- Be the manager for a while. Returns one row if so; no row means that another one is.
update dwh.manager set holder = %(id)s, until = clock_timestamp() + make_interval(secs => %(seconds)s)
where holder = %(id)s or until is null or until < clock_timestamp()
returning holder
