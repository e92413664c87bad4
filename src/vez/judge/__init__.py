"""Judges: verdicts on a trace, and their wording.

    properties   judges and measurements of a trace, with the evidence
    validate     decides if a recorded run is a possible run of the algorithm
    words        English and Portuguese: verdicts, steps, events, names of properties, titles of scenarios

Imports `vez.core`. May be imported by: draw, study, cli, worlds.check, testing.torture.
"""
