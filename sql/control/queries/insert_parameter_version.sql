-- Keep what a parameter for all was changed to. A null type means that it was taken away.
insert into dwh.parameter_version (name, type, value, description, changed_by)
values (%(name)s, %(type)s, %(value)s, %(description)s, %(who)s)
