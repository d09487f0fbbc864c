-- Inputs that were rolled back or restated since the claim. No row means that none was.
-- The share lock makes a restatement that is just being committed wait for this commit, and this one for it.
select t.name from dwh.target t
where t.name = any (%(inputs)s) and t.generation <> coalesce((%(generations)s::jsonb ->> t.name)::bigint, 0)
for share
