-- One batch that is part of another, at its place in the list.
insert into dwh.batch_hierarchy (parent, child, sequence, active) values (%(batch)s, %(name)s, %(sequence)s, %(active)s)
