"""Watching: what both transports know of a watch under way. No I/O.

A watch of one key begins *now*, although the recipe asks for all changes since a revision: etcd serves watches of the
past every 100 milliseconds only, and any write to any key makes a revision past. When the server says that the watch
is set, the key is read once if the cluster has moved on since that revision: at once, or after as long as the recipe
allows, if nothing was told till then. What changed before shows in that read, what changes later is told by the watch,
and nothing falls between.
"""

from __future__ import annotations

from typing import Any

from vez.engines.etcd.http import Exchange
from vez.engines.etcd.router import Router
from vez.engines.etcd.verdicts import BAD_TOKEN, result
from vez.engines.network.transport import CALL_SECONDS, WatchEnded
from vez.engines.queueing import LONG
from vez.recipes import Answer, Reply
from vez.recipes.etcd.operations import Event, Found, Get, Txn, Watch

SILENT = 10.0
"""Seconds without a message after which the next wait opens its watch anew, from the same revision: a connection can be
dead without a sign of it, and who renews a lease for hours must not miss that its turn was broken."""


def begins_now(watch: Watch) -> bool:
    """True if what happened before is read instead of watched; a range can hold too much for that."""
    return bool(watch.start) and not watch.end


class Watching:
    """A watch, from the request for it to its end."""

    def __init__(self, router: Router[Any], exchange: Exchange, watch: Watch) -> None:
        self._router, self._exchange, self._watch = router, exchange, watch
        self._next = watch.start
        self._heard = float("inf")
        """When the last message came; before the first one, when it was first waited for."""
        self._set = False
        """True once the server has said anything."""
        self._look_at: float | None = None
        """When the key must be read, because it may have changed before the watch was set."""

    def serves(self, watch: Watch, at: float) -> bool:
        """True if this stream goes on with what the watch asks for, and was not silent for too long."""
        asked, served = (watch.key, watch.end, watch.start), (self._watch.key, self._watch.end, self._next)
        return asked == served and at < self._heard + SILENT

    def must_look(self, at: float) -> bool:
        """True if it is time to ask `look`, and to tell `looked`."""
        return self._look_at is not None and at >= self._look_at

    def left(self, at: float, end: float | None) -> float:
        """For how many seconds to listen from now on, if it may take until `end`."""
        unset = None if self._set else self._heard + CALL_SECONDS
        return min(one - at for one in (end, self._look_at, unset, at + LONG) if one is not None)

    @property
    def look(self) -> Txn:
        """A read of the key."""
        return Txn((), (Get(self._watch.key),))

    def looked(self, reply: Reply) -> tuple[Event, ...]:
        """What the read says has happened."""
        self._look_at = None
        if not isinstance(reply, Answer):
            raise WatchEnded("whether something had happened before could not be read")
        found, revision = reply.value.replies[0], reply.value.revision
        assert isinstance(found, Found), "a Get was asked for"
        entry = found.entries[0] if found.entries else None
        if entry is None:
            return self._told((Event(self._watch.key, revision),))
        return self._told((Event(entry.key, entry.mod, entry),))

    def read(self, at: float) -> tuple[Event, ...]:
        """The events that have come until now."""
        if self._exchange.status not in (0, 200):
            raise self._ended(self._exchange.body().decode(errors="replace"))
        events: tuple[Event, ...] = ()
        self._heard = min(self._heard, at)
        for line in self._exchange.lines():
            self._heard, self._set = at, True
            try:
                told = result(line)
                if told.get("created") and begins_now(self._watch):
                    moved_on = self._router.codec.revision(told) >= self._watch.start
                    self._look_at = at + self._watch.late if moved_on else None
                events += self._router.codec.events(told)
            except WatchEnded as error:
                raise self._ended(str(error)) from error
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise WatchEnded(f"not a message of a watch: {error}") from error
        if not self._set and at >= self._heard + CALL_SECONDS:
            raise WatchEnded(f"the server has not answered for {CALL_SECONDS:g} s")
        return self._told(events)

    def _told(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Without what is older than was asked for: a member that is behind tells that too."""
        new = tuple(event for event in events if event.revision >= self._watch.start)
        if new:
            self._look_at = None  # whoever is told of this looks at everything
            self._next = max(self._next, *(event.revision + 1 for event in new))
        return new

    def _ended(self, reason: str) -> WatchEnded:
        if any(sign in reason for sign in BAD_TOKEN):
            self._router.token = ""
        return WatchEnded(reason)
