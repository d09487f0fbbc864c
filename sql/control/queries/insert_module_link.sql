-- One module of a batch, at its place in the list.
insert into dwh.batch_module (batch, module, sequence, active) values (%(batch)s, %(name)s, %(sequence)s, %(active)s)
