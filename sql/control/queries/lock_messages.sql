-- Writers of messages take turns until their transactions end, so that ids become visible in their order and no reader passes one over.
select pg_advisory_xact_lock(hashtext('dwh.message'))
