"""Spark and Iceberg: the server, sessions, tables, branches, manifests, and the next metadata of a publish."""
