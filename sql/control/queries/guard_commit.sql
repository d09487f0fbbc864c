-- The guards of the commit. The caller holds the topic's lock, taken by a statement before this one: so this one sees what the holders
-- before committed, also of other tables.
-- Returns one row; no row means that the caller's token was superseded, that the cursor is not where the block begins, or that
-- the attempt has ended already.
-- All guards matter: the token stops a paused worker that woke up too late; the position stops a second commit by the worker that
-- does hold the lease, and the end of its execution a commit after it has said that it failed.
select t.id from dwh.topic t
where t.id = %(topic_id)s
  and (t.token = %(token)s or not %(check_token)s)
  and ((t.last_pos, t.last_id) = (%(last_pos)s, %(last_id)s) or not %(check_position)s)
  and (exists (select from dwh.execution e where e.id = %(execution_id)s and e.execution_code = 'Executing') or not %(check_end)s)
