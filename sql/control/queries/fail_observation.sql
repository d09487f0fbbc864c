-- Note why a source could not be observed; what was known of it stays.
update dwh.source set problem = %(problem)s where name = %(name)s and problem is distinct from %(problem)s
returning name
