"""The time to wait for a silent process: tails of delays, and the timeout of least cost.

    silence    the probability that a message takes longer than a time
    choice     the timeout with the smallest expected cost
    loopback   round trips measured on this machine

`vez timeout` uses it.
"""
