"""Chaos: seeded faults while a scratch warehouse loads, and a look at whether a row was lost or doubled."""
