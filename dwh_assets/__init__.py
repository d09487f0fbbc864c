"""A data warehouse that loads itself, block by block, exactly once, and can prove it."""
