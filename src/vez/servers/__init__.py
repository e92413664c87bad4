"""Servers: the experiments of the texts about servers, state and clients, on real sockets.

    serving       five models of a server: one thread, a thread per request, a pool, stages, an event loop
    paging        a paged query, stateless (cursors that clients carry) and stateful (a view kept per client)
    fetching      a page and its twelve files, fetched one after the other and at once
    experiments   load, lost updates and waiting, measured on the five models

Imports `vez.draw`, and PostgreSQL for `paging` comes from `vez.testing.servers`. May be imported by: cli.
"""
