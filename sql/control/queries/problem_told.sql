-- Whether the event log tells of this problem already, within the last hour. No row: it does not.
select id from dwh.event_log where at > now() - interval '1 hour' and code = 'OBSERVE' and text = %(text)s limit 1
