"""Commands supervised while a lock is held: process groups, signals, terminals."""
