"""What a block writes: step, reload, range, upsert, history, one_day_step, and own classes."""
