-- The id of a topic's newest message. One row; 0 where there is none.
select coalesce(max(id), 0) as id from dwh.message where topic = %(topic)s
