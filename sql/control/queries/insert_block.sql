-- Store one planned block behind the last one. Returns its id.
insert into dwh.block (topic_id, seq, last_pos, last_id, next_pos, next_id, kind, status, upto, takes_all, planned_rows,
                       contents)
values (%(topic_id)s, %(seq)s, %(last_pos)s, %(last_id)s, %(next_pos)s, %(next_id)s, 'load', 'planned', %(upto)s, %(takes_all)s, %(rows)s,
        %(contents)s)
returning id
