"""Reductions: states that the search need not visit.

ample      partial-order reduction: chooses the events that suffice in a state
commute    decides if an event may come first
order      the order of messages on a channel, for `commute`
symmetry   states that differ only by a renaming of the processes
"""
