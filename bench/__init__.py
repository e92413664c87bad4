"""Benchmarks: `make bench`. They print speed as ratios within one run, and assert nothing, because machines are noisy.

    check, election, mutex, validate   the checker, the simulator and the validation
    engine, etcd                       locks on one machine and on etcd, beside other libraries
    cluster, node                      real processes on sockets
    serving, servers                   our servers beside others
    by_hand                            algorithms written by hand for one workload, as limits for the simulator

`python -m bench NAME` runs one of them.
"""
