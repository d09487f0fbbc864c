-- Drop all views of our schemas at once, so that their order does not matter and tables under them can change.
-- Returns nothing; without views it does nothing. A view of someone else upon ours makes it fail, by intent.
do $$
declare
    names text;
begin
    select string_agg(format('%I.%I', schemaname, viewname), ', ') into names
      from pg_catalog.pg_views where schemaname in ('dwh', 'sch', 'kettle', 'direct', 'broker', 'ems');
    if names is not null then
        execute 'drop view ' || names;
    end if;
end
$$
