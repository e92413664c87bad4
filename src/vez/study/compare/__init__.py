"""Costs and fault tolerance of algorithms: measured figures beside the formulas of the papers.

    mutex, election   the scenes that are run and measured
    formulas          the claims of the papers
    figure            a measured value beside a claim
    rounds            the number of rounds of an election

`vez compare` uses it.
"""
