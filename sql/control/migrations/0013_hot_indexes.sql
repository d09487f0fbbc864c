-- What partitions, requests for runs, the watch of ended attempts and the pruning of attempts ask for, again and again: without these
-- each question reads every block, every attempt or all statistics that there ever were.
create index block_void on dwh.block (topic_id, seq) where status = 'void';
create index execution_of_restatement on dwh.execution (restatement_id) where restatement_id is not null;
create index execution_ended_at on dwh.execution (ended_at) where ended_at is not null;
create index load_stat_of_execution on dwh.load_stat (execution_id);   -- else asked for whole when an attempt is deleted
