"""Clusters: several nodes as real processes of this host, and one trace of their run.

journals            reads the journals of nodes
run_file            faults and end of a run, in a file beside the journals
clocks              converts the times of several hosts to one clock
merge               merges journals by time and causality into one trace
assemble            a trace from journals, with the header that judges need
member              one node as a child process
scripted            the effects of a scenario on messages, timers and choices of a node
arguments           the files and command lines of the nodes
perfect_detector    the perfect failure detector: the cluster reports every crash
program             the application and the faults of a scenario, in real time
stillness           finds out that nothing is under way
rounds              asks the members for their status again and again
cluster             starts the members, runs the program, and merges the journals
"""
