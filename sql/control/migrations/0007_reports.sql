-- Reports, vocabularies and an event log that only grows.
-- earlier: 6d9f7e8d7db95b0c22f8ab020e05b1f05909b78a09876528027f6f3ff7ca689d

-- The event log is append-only, for its owner too: it is what proves who did what, so no statement may change it by mistake.
-- The rights of everyone else are taken away, and a trigger refuses what the owner could still do.
alter table dwh.event_log
    drop constraint event_log_kind_check,
    add constraint event_log_kind_check check (kind in ('process', 'act', 'information', 'custom'));
revoke update, delete, truncate on dwh.event_log from public;

create function dwh.refuse_event_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'DELETE' and current_setting('dwh.expiring_events', true) = 'yes' then
        return null;
    end if;
    raise exception 'the event log is append-only: % is refused', tg_op
        using errcode = 'insufficient_privilege', hint = 'Old events are removed by select dwh.expire_events(before).';
end
$$;
create trigger event_log_is_append_only before update or delete or truncate on dwh.event_log
    for each statement execute function dwh.refuse_event_change();
-- Always: also in a session that has switched ordinary triggers off, as replication and restores do.
alter table dwh.event_log enable always trigger event_log_is_append_only;

-- The one way to remove events. What the trigger asks for is set here for this transaction and taken back before the end; an error
-- takes it back too, so nothing else in the transaction profits from it. Whoever sets
-- it by hand means to; against an owner who means to there is no guard inside a database. It runs with its owner's rights, so that
-- a role for maintenance needs no right to delete, only to execute it. The event that tells why a block is parked stays as long as
-- that is so. At most so many go at a time, the oldest first; it leaves an event that says what it did.
create function dwh.expire_events(before timestamptz, most bigint default null) returns bigint language plpgsql security definer
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
revoke execute on function dwh.expire_events(timestamptz, bigint) from public;

-- The audit columns that a built table has, as the last apply found it; null: not looked at yet.
alter table dwh.target add column audit_columns text[];

-- Numbers for those vocabularies whose documents know things by a number; names stay the keys.
alter table dwh.module add column number integer generated always as identity;
alter table dwh.batch add column number integer generated always as identity;
alter table dwh.target add column number integer generated always as identity;
alter table dwh.source add column number integer generated always as identity;
alter table dwh.parameter add column number integer generated always as identity;

create schema if not exists sch;
create schema if not exists kettle;
create schema if not exists direct;
create type sch.position as (pos timestamptz, id numeric(20));

-- What the reports ask for, so that none of them reads the whole history.
create index on dwh.load_stat (loaded_at);
create index event_of_error on dwh.event_log (at) where code in ('FAILED', 'PARKED', 'LOST', 'PLAN', 'OBSERVE');
