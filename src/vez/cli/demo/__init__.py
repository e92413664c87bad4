"""`make demo`: real processes take turns on the default engine, then runs of the simulator and a real cluster.

    turns    the first half: a lock and an election, under faults
    worker   a worker process of the first half
    tour     the second half: three simulated runs and one of real processes

`python -m vez.cli.demo` runs both.
"""
