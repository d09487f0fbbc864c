-- Alerts: what a person should know, once each, and what became of it at each target that is told.

alter table dwh.module add promise interval;         -- a lag above it is an alert

create table dwh.alert (
    id            bigint generated always as identity primary key,
    kind          text not null check (kind in ('check_failed', 'check_warned', 'run_failed', 'block_parked', 'behind',
                                                'event_without_block')),
    key           text not null unique,              -- of this occurrence: raising it again changes nothing
    topic         text,
    block_id      bigint,
    severity      text not null check (severity in ('error', 'warn')),
    text          text not null,
    raised_at     timestamptz not null default now(),
    resolved_at   timestamptz,                       -- equal to raised_at for what is over as it happens
    check (resolved_at >= raised_at)
);
create index on dwh.alert (raised_at);
create index alert_open on dwh.alert (kind, topic) where resolved_at is null;
create index alert_of_block on dwh.alert (block_id) where block_id is not null;
-- One alert per episode, also when two processes see its beginning at once.
create unique index one_open_behind on dwh.alert (topic) where kind = 'behind' and resolved_at is null;

-- One row per alert and target. A process claims it (for update skip locked, then next_try lies ahead), sends, then marks it sent.
-- So two processes never send the same one, but one that dies between the send and the mark leaves it to be sent once more:
-- a web server or a mail server takes no part in a transaction, so at least once is the best that can be had.
create table dwh.alert_delivery (
    alert_id      bigint not null references dwh.alert on delete cascade,
    target        text not null,
    sent_at       timestamptz,                       -- the newest time it arrived
    attempts      integer not null default 0,        -- since it last arrived
    problem       text,                              -- why the newest attempt failed; holds no secret
    next_try      timestamptz,                       -- claimed, or held back after a failure, until then
    primary key (alert_id, target)
);
create index delivery_waiting on dwh.alert_delivery (target, alert_id) where sent_at is null;

create index event_parked on dwh.event_log (block_id) where code = 'PARKED';
create index load_stat_failed_check on dwh.load_stat (loaded_at) where checks @> '[{"passed": false}]';
