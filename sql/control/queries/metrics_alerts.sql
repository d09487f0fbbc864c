-- Alerts that are open now, by kind and severity. Nothing where none is.
select kind, severity, count(*) as alerts from dwh.alert where resolved_at is null group by kind, severity order by kind, severity
