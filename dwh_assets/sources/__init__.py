"""Where base rows come from. Each source has a watermark, cuts blocks at row boundaries, and reads one block."""
