-- Which of these topics exist.
select name from dwh.topic where name = any (%(topics)s)
