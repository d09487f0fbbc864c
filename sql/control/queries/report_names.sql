-- Every name that a person may mean: topics and sources, to suggest a near one.
select name from dwh.topic union select name from dwh.source where not removed order by name
