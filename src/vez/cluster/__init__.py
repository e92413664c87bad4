"""Clusters: several nodes as real processes of this host, and one trace of what they did.

journals    reads the journals of nodes
kept        faults and end of a run, in a file beside the journals
merge       merges journals by time and causality into one trace
assemble    a trace from journals, with the header that judges need
member      one node as a child process
scripted    what a scenario does to messages, timers and choices of a node
arguments   the files and command lines of the nodes
perfect     the perfect failure detector: the cluster tells who is dead
program     the application and the faults of a scenario, in real time
cluster     starts the members, runs the program, and merges
"""
