"""Leader election: one algorithm, one file."""
