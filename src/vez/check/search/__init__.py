"""How states are explored: packed breadth-first search, tables and the set of visited states."""

from vez.words import said

BY_USER = said("stopped_by_user")
INTERRUPTED = str(BY_USER)
"""Why a search stopped that the user interrupted."""
