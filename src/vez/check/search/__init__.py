"""How states are explored: packed breadth-first search, tables and the set of visited states."""
