"""Choosing: a quorum, a timeout, an algorithm. Exact arithmetic here, measurements by way of `vez.sim`."""
