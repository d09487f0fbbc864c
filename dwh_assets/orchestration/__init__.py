"""Dagster: assets from the Lineage, blocks as partitions, sensors, checks, reports. It shows the truth, it does not hold it."""
