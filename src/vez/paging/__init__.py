"""A paged query, stateless and stateful: what a server remembers of its clients, and what that costs.

A client reads the rows of a table in pages. The server either remembers nothing, and the client carries a cursor, or
it keeps a view of the answer for each client. Camargos, Concorrência, "Estado", tells this story. Here both run, on
SQLite or PostgreSQL.

    store         the table, and how many rows the database visits
    pager         the four ways: recompute, offset, keyset, view
    signing       cursors and tokens that clients carry
    views, stable_views, sessions, accounts   what is remembered, where, how much and for how long
    news, watch   sessions that are told of new rows
    service       all of it as a service of `vez.serving`; `python -m vez.paging` is a server
    process       such servers as processes, and their client
    measure       the experiments
"""
