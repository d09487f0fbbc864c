-- A restatement whose workers are always lost is given up, as a block is parked.
alter table dwh.restatement add column crashes integer not null default 0;   -- attempts whose worker, or Spark, was lost
