-- Lock the topics of modules that an apply changes, so that no claim begins a block while it looks for begun ones.
-- Always in the same order, and before anything else of the apply: commits lock a topic first, and then its table.
select id from dwh.topic where module = any (%(modules)s) order by id for update
