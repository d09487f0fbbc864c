-- Topics whose name resembles the one that was asked for. Nothing where none does.
select name from dwh.topic
where name like '%%' || split_part(%(topic)s, '.', 2) || '%%' or split_part(name, '.', 2) = split_part(%(topic)s, '.', 1)
order by name limit 3
