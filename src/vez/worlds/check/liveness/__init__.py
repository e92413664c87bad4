"""Liveness: properties that something happens eventually.

elections  when a leader is owed in a state, and whether there is one
graph      the state graph, its components and its fair cycles
lassos     the runs that break a liveness property: those that end, and those that repeat a fair loop
"""
