"""Locks and leaders for programs: `vez.lock`, `vez.connect`, `vez.aio`, `vez run`.

    turns       the API of a program: requests, grants, the clients for threads and for tasks
    engines     the storage of locks: `file:`, `memory:`, `etcd:`, and the interfaces that every engine implements
    table       the turn table, a pure state machine that decides who holds a name and who is next
    recipes     the protocols between a client and its server, as generators without I/O
    models      the table and the recipes as processes, for the checker
    peers       the engine `peers:`, which runs an algorithm of the catalogue among the programs
    supervise   a command that runs while a lock is held
    fence       guards of the protected resource, which refuse stale tokens
    exporters   the metrics of a client, for Prometheus and OpenTelemetry

Programs import the public names (`vez`, `vez.aio`, `vez.fence`, `vez.metrics`), not this package. It imports nothing
of the rest of vez, with two exceptions: `models` is written with `vez.core`, and `peers` runs algorithms of
`vez.catalogue` on `vez.worlds.node`, with settings of `vez.worlds.sim`. May be imported by: testing, cli,
catalogue.load.
"""
