-- Register a built table. Its generation stays as it is.
insert into dwh.target (name) values (%(name)s) on conflict do nothing
