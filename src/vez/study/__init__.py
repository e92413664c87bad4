"""Studies of algorithms: the work of the commands as functions.

    report, search, sweep       one run, judged and measured; the first broken run; many seeds
    shrink, explain, tidy       a failing run made short and easy to look at
    minimal, shortest           the checker's answer whether a smaller run exists; both together
    switches, exhibit           runs without an assumption; runs of the zoo
    workers                     worker processes of a sweep
    algorithm_header            the labelled lines of an algorithm's file
    compare                     costs and tolerance of algorithms, beside the formulas of the papers
    detection, quorum, timeout  failure detectors; quorums that forget; the timeout of least cost
    verify                      the verification matrix

This file imports nothing, so that each command loads only the part that it uses. The room imports `vez.core`,
`vez.judge`, `vez.worlds`, `vez.catalogue` and `vez.draw`. May be imported by: cli.
"""
