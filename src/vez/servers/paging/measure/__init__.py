"""The gains and costs of remembering clients: experiments with real servers, real databases and real kills.

    pages         rows visited, time and memory for every page of every way, and their chart
    repetition    the same request sent several times: equal answers or not
    changes       rows inserted and removed while a client reads: repeated, missed and stale rows
    failures      the server killed and started again, the client sent to another server, a reply that is lost
    vanished      clients that never come back
    identity      a password, a token or a session with every request
    notices       a session that tells its client of new rows
    table         the six rows of the comparison, each from a measurement above
    shop          the database, the accounts and the servers that all experiments use
    experiments   all experiments by name, and their results

Each experiment is one file.
"""
