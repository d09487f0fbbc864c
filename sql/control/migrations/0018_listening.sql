-- Since when the manager has heard the workers without a break. Whoever was away first listens as long as a worker may be silent.
alter table dwh.manager add column listens_since timestamptz;
