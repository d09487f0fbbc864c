-- Keep how many late rows were found in a block's range.
update dwh.block set late_rows = %(count)s where id = %(block_id)s
