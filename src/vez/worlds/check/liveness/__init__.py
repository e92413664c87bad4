"""Liveness: properties that something happens eventually.

graph    the state graph, its components and its fair cycles
lassos   the runs that break a liveness property: those that end, and those that repeat a fair loop
"""
