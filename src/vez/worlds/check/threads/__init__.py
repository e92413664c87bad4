"""Every interleaving of programs of threads over shared memory.

effects         the effect of one operation on one shared object
machine         the states of a program and the turns of its threads
interleavings   the search, and its verdicts
"""
