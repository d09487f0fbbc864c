-- The function that removes old events, for stores whose 0007 gave it a setting of its own: only a superuser may do that, and who has
-- a database on a server of others is none. Whether it may be executed stays as it is.
create or replace function dwh.expire_events(before timestamptz, most bigint default null) returns bigint language plpgsql security definer
    set search_path = pg_catalog, pg_temp as $$
declare
    gone bigint;
begin
    perform set_config('dwh.expiring_events', 'yes', true);
    delete from dwh.event_log e where e.id in (
        select o.id from dwh.event_log o
        where o.at < before
          and not (o.code = 'PARKED' and exists (select from dwh.block b where b.id = o.block_id and b.status = 'parked'))
        order by o.at limit most
    );
    get diagnostics gone = row_count;
    perform set_config('dwh.expiring_events', 'no', true);
    if gone > 0 then
        insert into dwh.event_log (kind, code, who, text)
        values ('information', 'EXPIRED', session_user, format('%s events before %s were removed', gone, before));
    end if;
    return gone;
end
$$;
