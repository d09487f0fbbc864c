-- Forget what was planned, and void what was begun: the cursor is moved by hand.
with forgotten as (
    delete from dwh.block where topic_id = %(topic_id)s and status = 'planned'
)
update dwh.block set status = 'void' where topic_id = %(topic_id)s and status in ('open', 'parked')
