-- What was last seen of every source in force.
select name, watermark, newest_pos, seen_at, changed_at, problem from dwh.source where active and not removed order by name
