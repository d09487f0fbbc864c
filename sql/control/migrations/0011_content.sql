-- What a block's rows held when they were first looked at as a whole: a hash sum over every value, and the execution whose rows
-- they were. Rows that another execution writes in their place are noted anew.
alter table dwh.load_stat
    add column content_hash numeric(40),
    add column content_of   bigint;
