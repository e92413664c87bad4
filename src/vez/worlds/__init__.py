"""Worlds: the three environments in which an algorithm runs. All of them give the same kind of trace.

    sim     virtual time and faults, from a seed
    check   every interleaving, and a shortest run to each violation
    node    real processes on real sockets; `node/cluster/` runs a group of them and merges their journals

`check` and `node` use the scenarios of `sim`. Imports `vez.core`; `check` also `vez.judge` and `vez.threads`. May be
imported by: study, cli, catalogue.zoo, locks.peers.
"""
