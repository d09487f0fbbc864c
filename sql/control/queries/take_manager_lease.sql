-- Be the manager for a while, and say what workers are judged by. It listens since now where it did not (`anew`), and where its lease
-- had run out: a process that was stopped does not know it, and would take what it has missed for silence.
-- Returns one row if so; no row means that another one is.
update dwh.manager
set holder = %(id)s, until = clock_timestamp() + make_interval(secs => %(seconds)s), online_seconds = %(online)s, silence_seconds = %(silence)s,
    listens_since = case when holder = %(id)s and until > clock_timestamp() and not %(anew)s then listens_since else clock_timestamp() end
where holder = %(id)s or until is null or until < clock_timestamp()
returning holder
