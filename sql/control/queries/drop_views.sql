-- Drop all views of the schema at once, so that their order does not matter and tables under them can change.
-- Returns nothing; without views it does nothing. A view of someone else upon ours makes it fail, by intent.
do $$
declare
    names text;
begin
    select string_agg(format('%I.%I', schemaname, viewname), ', ') into names
      from pg_catalog.pg_views where schemaname = 'dwh';
    if names is not null then
        execute 'drop view ' || names;
    end if;
end
$$
