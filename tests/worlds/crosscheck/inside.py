"""Handler crashes: a second implementation of crashes inside a handler, different from the checker's.

The checker runs a handler once and cuts the record. Here the handler runs again for every moment at which its process
may crash, and an exception ends it there: before and after each send, entry and election.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

ACTIONS = ("send", "enter", "elected")


class Stop(Exception):
    """The process crashes here."""


def halves(prepare: Callable[[], tuple[Any, Any]], call: Callable[[Any, Any], None], kept: Any) -> Iterator[Any]:
    """The process and its actions so far, at every moment inside a handler except its end.

    `prepare` makes a process and its io, `call` runs the handler, `kept` gives the durable fields of a process.
    """
    body, io = prepare()
    nothing, count = kept(body), _watch(io)
    call(body, io)
    end = (count(), kept(body))
    if end != (0, nothing):
        yield prepare()
    for moment in range(2 * end[0]):
        body, io = prepare()
        count = _watch(io, moment)
        try:
            call(body, io)
        except Stop:
            if (count(), kept(body)) != end:
                yield body, io


def _watch(io: Any, stop_at: int = -1) -> Callable[[], int]:
    """Count the actions of an io, and stop at a moment. The number of a moment is twice the number of actions before
    it, plus one if it is after an action."""
    done = moment = 0

    def wrapped(action: Callable[..., None]) -> Callable[..., None]:
        def act(*arguments: Any) -> None:
            nonlocal done, moment
            if moment == stop_at:
                raise Stop
            action(*arguments)
            done += 1
            moment += 1
            if moment == stop_at:
                raise Stop
            moment += 1

        return act

    for name in ACTIONS:
        setattr(io, name, wrapped(getattr(io, name)))
    return lambda: done
