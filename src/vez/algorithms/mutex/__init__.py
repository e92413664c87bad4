"""Mutual exclusion by messages: one algorithm, one file."""
