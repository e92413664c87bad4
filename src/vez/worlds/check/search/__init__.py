"""The exploration of states: packed breadth-first search, tables and the set of visited states.

breadth_first       the search: layers, safety properties
limits, progress    when it stops early, and how far it has come
packed, successors  expands a batch of states into the words of their successors
layout, tables      the columns of a state; the model's functions as arrays
columns             the packing of states into words
store, dict_store   the set of visited states, with NumPy and without
overlap, memory     a second thread that stores states; memory use and garbage collection
"""

from vez.judge.words import said

BY_USER = said("stopped_by_user")
INTERRUPTED = str(BY_USER)
"""The reason of a search that the user interrupted."""
