"""Engines over a network: one engine for threads and one for tasks, for every server.

A server needs a transport (`transport.py`: calls and watches) and a set of recipes (`recipe_set.py`: generators without
I/O). The rest is here. Code that waits is written once, for tasks, and generated for threads by `tools/unasync.py`:

    for tasks            for threads (generated)
    task_transport.py    thread_transport.py      the interface of a transport
    task_pump.py         thread_pump.py           the pump, which executes the steps of a recipe (`recipe_run.py`)
    task_sessions.py     thread_sessions.py       opens, renews, shares and revokes sessions (`session.py`)
    task_engine.py       thread_engine.py         the engine, as clients use it

The real differences between threads and tasks are in pairs of files with the same names: `task_side.py` and
`thread_side.py` (reports of a loss, event loops, forks), `task_wire.py` and `thread_wire.py` (connections; their errors
are in `wires.py`), and beside this folder `task_primitives.py` and `thread_primitives.py`. Code that does not wait is
common: `session.py` is the lease of a client, as far as it is proved on our own clock; `holding.py` is the grant that a
client gets; `engine_base.py` is the base of both engines.

A request can end by a timeout, Ctrl-C, a cancelled task or a closed client. In every case its recipe cleans up before
the caller continues. If the clean-up is interrupted too, or takes too long, it continues in the background.
"""
