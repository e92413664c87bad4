"""A paged query, stateless and stateful: the state that a server keeps of its clients, and its cost.

A client reads the rows of a table in pages. The server either remembers nothing, and the client carries a cursor, or
it keeps a view of the answer for each client. Camargos, Concorrência, "Estado", describes both. Here both run, on
SQLite or PostgreSQL.

    store         the table, and the number of rows that the database visits
    pager         the four ways: recompute, offset, keyset, view
    signing       cursors and tokens that clients carry
    refusal       the error for a request that is not served
    views, stable_views, sessions, accounts   the state of clients: where it is kept, its size and its lifetime
    news, watch   sessions that are told of new rows
    service       all of it as a service of `vez.servers.serving`; `python -m vez.servers.paging` is a server
    process       such servers as processes, and their client
    measure       the experiments
"""
