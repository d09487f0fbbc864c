"""Warm processes that carry out runs, the bus they talk by, and the manager that gives them work."""
