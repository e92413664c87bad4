"""What remembering clients gives and costs: experiments with real servers, real databases and real kills.

pages      rows visited, time and memory for every page of every way
changes    rows inserted and removed while a client reads: what is repeated, missed, stale
failures   the server killed and started again, the client sent to another server, a reply that is lost
vanished   clients that never come back
identity   a password, a token or a session with every request
notices    a session that tells its client of new rows
table      the six rows of the comparison, each from a measurement above
"""
