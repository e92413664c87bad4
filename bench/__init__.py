"""Benchmarks: `make bench`. Speed as ratios in one run, never as assertions; these machines are noisy."""
