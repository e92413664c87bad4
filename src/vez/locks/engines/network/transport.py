"""The outcomes of a call to a server. There is a transport for tasks (`task_transport.py`) and one for threads
(`thread_transport.py`). Only transports know how the server is reached, and no exception of a library leaves them.

A call ends in one of four ways, and a transport must distinguish them:

- `Answer`: the reply of the server;
- `Refused`: the server refused the call, which had and will have no effect;
- `Unknown`: no reply came, and the call may have taken effect, or may still take effect;
- `Unreachable` is raised: no server could be reached, and nothing was sent.

`EngineUnavailable` is raised if repeating the call cannot help: a refused password, another protocol.
"""

from __future__ import annotations

from vez.errors import EngineUnavailable

CALL_SECONDS = 5.0
"""Longest wait for a reply, in seconds. Renewals wait less: a third of their lease, but at least 0.5 s."""


class Unreachable(EngineUnavailable):
    """No server could be reached, and nothing was sent."""


class WatchEnded(Exception):
    """A watch ended: its connection broke, or the server no longer has the history."""
