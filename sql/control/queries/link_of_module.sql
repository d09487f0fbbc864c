-- A module as part of a batch: whether the link is switched on. No row: it is no part of it.
select active from dwh.batch_module where batch = %(batch)s and module = %(module)s
