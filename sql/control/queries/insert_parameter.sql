-- Keep a parameter for all, or of one module.
insert into dwh.parameter (name, module, type, value, description)
values (%(name)s, %(module)s, %(type)s, %(value)s, %(description)s)
