-- How many base rows audits have read in the last hour, of all processes. One row.
select coalesce(sum((figures ->> 'rows')::bigint), 0)::bigint as rows
from dwh.maintenance where task = 'audit' and started_at > clock_timestamp() - interval '1 hour'
