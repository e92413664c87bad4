"""Engines over a network: one engine for threads and one for tasks, for every server.

A server needs a transport (`transport.py`: calls and watches, twice) and a book (`book.py`: its recipes, generators
without I/O). The rest is here, once:

- `course.py` drives a recipe step by step; `threads.py` and `tasks.py` are the two pumps around it;
- `session.py` is the lease of a client, as far as it is proved on our own clock; `thread_sessions.py` and
  `task_sessions.py` open, renew, share and revoke sessions;
- `holding.py` is what a client gets; `engine.py` and `async_engine.py` implement the seam.

Whatever ends a request (a timeout, Ctrl-C, a cancelled task, a closed client), its recipe cleans up before the caller
is told; if that is cut short as well, or takes too long, the clean-up goes on in the background.
"""
