-- Lock topics for a claim of many. Returns those that were free; the others do not exist, or someone is at work on them just now.
-- It waits for nobody: who waits for a second lock while holding a first one can stand in a circle of waiters.
select id, name from dwh.topic where name = any (%(topics)s) order by id for update skip locked
