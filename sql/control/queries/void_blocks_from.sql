-- Blocks from a sequence number on are history: they were rolled back. What was only planned is forgotten.
with forgotten as (
    delete from dwh.block where topic_id = %(topic_id)s and seq >= %(seq)s and status = 'planned'
)
update dwh.block set status = 'void' where topic_id = %(topic_id)s and seq >= %(seq)s and status not in ('void', 'planned')
