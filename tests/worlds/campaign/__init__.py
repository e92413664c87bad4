"""The campaign: every algorithm as real processes, with every kind of real fault, judged by the verification matrix.

cases       pairs of an algorithm and a fault, with the seed that decides everything else
real        runs a case: nodes as child processes, every channel through the proxy of the tests
happened    counts the faults that really occurred in a run, from its trace
judgement   finds the rows of the verification matrix that cover a run, and contradictions to them
"""
