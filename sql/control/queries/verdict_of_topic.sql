-- The verdict of one topic, by its id: only this topic's rows are looked at. No row means that it is unknown.
select * from dwh.verdict where topic_id = %(topic_id)s
