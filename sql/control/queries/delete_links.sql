-- Forget what a batch consists of; what its file lists now is put in its place.
with gone as (delete from dwh.batch_module where batch = %(batch)s) delete from dwh.batch_hierarchy where parent = %(batch)s
