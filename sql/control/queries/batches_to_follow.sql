-- Batches that start when others have succeeded, where all of those have, since it last began. Returns nothing where none waits.
select b.name
from dwh.batch b
where b.active and not b.removed and jsonb_array_length(b.spec -> 'after') > 0
  and not exists (select from dwh.batch_instance i where i.batch = b.name and i.execution_code = 'Executing')
  and not exists (
      select from jsonb_array_elements_text(b.spec -> 'after') as wanted (name)
      where not exists (
          select from dwh.batch_instance done
          where done.batch = wanted.name and done.execution_code = 'Succeeded'
            and done.ended_at > coalesce((select max(mine.started_at) from dwh.batch_instance mine where mine.batch = b.name), '-infinity')
      )
  )
order by b.name
