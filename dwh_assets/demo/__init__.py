"""A small retail warehouse: its sources, its generator, and the Python transforms its Lineage names."""
