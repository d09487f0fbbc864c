"""The way of a block (observe, decide, plan, claim, stage, check, commit) and the loop that drives it."""
