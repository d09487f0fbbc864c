-- A planned block becomes open: from now on its bounds never change.
update dwh.block set status = 'open' where id = %(block_id)s and status in ('planned', 'open')
