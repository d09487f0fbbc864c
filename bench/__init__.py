"""Measurements of the product on this machine: ratios with their parts, against plain Spark, in one run."""
