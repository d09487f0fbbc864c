-- What an alert told of is over. Returns its id; no row means that it was over before, or never raised.
update dwh.alert set resolved_at = greatest(now(), raised_at) where key = %(key)s and resolved_at is null
returning id
