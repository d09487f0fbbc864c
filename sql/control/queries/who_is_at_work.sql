-- Topics that are being loaded now. No row: none is.
select format('topic %s is held by %s', name, lease_worker) as name from dwh.topic where lease_until > clock_timestamp()
