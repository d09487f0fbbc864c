-- Be the manager for a while, and say what workers are judged by. Returns one row if so; no row means that another one is.
update dwh.manager
set holder = %(id)s, until = clock_timestamp() + make_interval(secs => %(seconds)s), online_seconds = %(online)s, silence_seconds = %(silence)s
where holder = %(id)s or until is null or until < clock_timestamp()
returning holder
