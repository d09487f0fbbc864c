"""Pure rules: positions, topics, blocks, durations, windows, verdicts, the Lineage graph, errors. Standard library only."""
