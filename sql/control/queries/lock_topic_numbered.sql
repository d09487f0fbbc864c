-- Lock one topic for a plan or a commit; waits for who holds it. No row: there is no such topic.
-- It judges nothing: who has waited for the lock sees other tables as they were before. Guards are a statement of their own, after it.
select id from dwh.topic where id = %(topic_id)s for update
