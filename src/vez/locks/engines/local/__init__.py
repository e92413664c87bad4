"""Engines of one machine, `file:` and `memory:`: the parts that they share.

    core            a core that never blocks: each engine implements it
    thread_engine   the pump for threads, which blocks its thread until the core grants
    task_engine     the pump for tasks, which blocks its task

Both pumps are written by hand; `thread_engine` says why.
"""
