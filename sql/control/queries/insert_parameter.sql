-- Keep a parameter: for all, of one module, or of one batch.
insert into dwh.parameter (name, module, batch, type, value, description)
values (%(name)s, %(module)s, %(batch)s, %(type)s, %(value)s, %(description)s)
