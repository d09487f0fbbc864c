-- The completeness audit: what a block's base rows held when they were read, when they were last counted again, and what was found.
alter table dwh.load_stat
    add column base_content numeric(20),                -- a hash sum over the values of its base rows
    add column base_hashed  text[],                     -- by what it was made, and of which columns
    add column base_files   text,                       -- of a table of files: a digest of those that held the rows at the last look
    add column audited_at   timestamptz,
    add column audit_found  text check (audit_found in ('more', 'fewer', 'other', 'values', 'gone'));   -- null: nothing amiss
create index load_stat_audited on dwh.load_stat (topic_id, audited_at nulls first, block_id desc);
create index load_stat_found on dwh.load_stat (topic_id) where audit_found is not null;

alter table dwh.alert
    drop constraint alert_kind_check,
    add constraint alert_kind_check check (kind in ('check_failed', 'check_warned', 'run_failed', 'block_parked', 'behind',
                                                    'event_without_block', 'audit'));
