"""How states are explored: packed breadth-first search, tables and the set of visited states."""

INTERRUPTED = "by Ctrl-C"
"""Why a search stopped that the user interrupted."""
