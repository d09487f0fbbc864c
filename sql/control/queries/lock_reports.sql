-- One reporter at a time per topic, until the end of the transaction: two would both find an attempt unreported.
select pg_advisory_xact_lock(hashtext('dwh.report'), %(topic_id)s::int)
