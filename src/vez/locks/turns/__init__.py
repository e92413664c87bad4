"""Locks and leaders for programs: requests, grants, and the clients for threads and for tasks.

    client, aio              the clients for threads and for tasks; `aio_default`: the default client of an event loop
    client_base, grant       the parts of clients and grants that both share
    request                  requests, and the checks of their arguments
    terms, under_terms, task_watched, thread_watched   reentrant grants, a shortest stay, callbacks, logging
    leading, task_leading, thread_leading   work that only the leader does, again and again
    metrics                  waits, stays, timeouts and losses of a client
    periods, task_periodic, thread_periodic   work that is done once in each period
    decorate, describe       locks as decorators; `repr`
    other_words              the words of other libraries, and those of vez for them
    task_owner               the owner of a task

The engines, to which the clients pass their requests, are in `vez.locks.engines`.
"""
