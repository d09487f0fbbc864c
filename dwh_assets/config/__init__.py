"""What people write: settings, Lineage files, and the guard that parses their SQL."""
