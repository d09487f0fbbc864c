-- Lock one topic for a claim, the end of an attempt, or an act by hand; waits for who holds it. No row: there is no such topic.
select * from dwh.topic where name = %(topic)s for update
