"""Studies of algorithms: runs, sweeps over seeds, shrinking, comparisons. What the commands do, as functions.

Nothing is imported here, so that `vez node` can find an algorithm (`load`) without loading the rest.
"""
