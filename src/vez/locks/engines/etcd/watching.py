"""Watching: the state of an open watch, for both transports. No I/O.

A watch of one key begins *now*, although the recipe asks for all changes since a revision. The reason: etcd serves
watches of the past only every 100 milliseconds, and any write to any key makes a revision past. When the server
confirms the watch, and the cluster has moved on since that revision, the key is read once. The read takes place at once
or, if the recipe allows a delay, after it, unless an event has arrived before. The read shows earlier changes and the
watch reports later ones, so no change is missed.
"""

from __future__ import annotations

from typing import Any

from vez.locks.engines.etcd.error_replies import BAD_TOKEN, result
from vez.locks.engines.etcd.http import Exchange
from vez.locks.engines.etcd.replies import NotEtcd, said
from vez.locks.engines.etcd.router import Router
from vez.locks.engines.network.transport import CALL_SECONDS, WatchEnded
from vez.locks.engines.queueing import LONG
from vez.locks.recipes import Answer, Reply
from vez.locks.recipes.etcd.operations import Event, Found, Get, Txn, Watch

SILENT = 10.0
"""Seconds without a message after which the next wait reopens its watch, from the same revision. A connection can be
dead without any sign, and a holder that renews its lease for hours must not miss a forced release."""


def begins_now(watch: Watch) -> bool:
    """True if earlier changes are read instead of watched. Only for single keys: a range may contain too much to
    read."""
    return bool(watch.start) and not watch.end


class Watching:
    """A watch, from the request for it to its end."""

    def __init__(self, router: Router[Any], exchange: Exchange, watch: Watch) -> None:
        self._router, self._exchange, self._watch = router, exchange, watch
        self._next = watch.start
        self._heard = float("inf")
        """Time of the last message; before the first message, the time when the first wait began."""
        self._set = False
        """True once the server has sent a message."""
        self._look_at: float | None = None
        """Time at which the key must be read, because it may have changed before the watch began; None if it need not
        be read."""

    def serves(self, watch: Watch, at: float) -> bool:
        """True if this stream can serve `watch`, because it continues at the same revision, and was not silent for too
        long."""
        asked, served = (watch.key, watch.end, watch.start), (self._watch.key, self._watch.end, self._next)
        return asked == served and at < self._heard + SILENT

    def must_look(self, at: float) -> bool:
        """True if it is time to execute `look` and pass the reply to `looked`."""
        return self._look_at is not None and at >= self._look_at

    def left(self, at: float, end: float | None) -> float:
        """Seconds to listen from `at` on, at most until `end`."""
        unset = None if self._set else self._heard + CALL_SECONDS
        return min(one - at for one in (end, self._look_at, unset, at + LONG) if one is not None)

    @property
    def look(self) -> Txn:
        """The request that reads the key."""
        return Txn((), (Get(self._watch.key),))

    def looked(self, reply: Reply) -> tuple[Event, ...]:
        """The events that the reply to `look` implies."""
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
        """The events that have arrived. Raises `WatchEnded` if the watch has ended."""
        if self._exchange.status not in (0, 200):
            raise self._ended(said(self._exchange.body().decode(errors="replace")))
        events: tuple[Event, ...] = ()
        self._heard = min(self._heard, at)
        for line in self._exchange.lines():
            self._heard, self._set = at, True
            try:
                told = result(line)
                if told.created and begins_now(self._watch):
                    moved_on = told.header.revision >= self._watch.start
                    self._look_at = at + self._watch.late if moved_on else None
                events += self._router.codec.events(told)
            except WatchEnded as error:
                raise self._ended(str(error)) from error
            except NotEtcd as error:
                raise WatchEnded(f"not a message of a watch: {error}") from error
        if not self._set and at >= self._heard + CALL_SECONDS:
            raise WatchEnded(f"the server has not answered for {CALL_SECONDS:g} s")
        return self._told(events)

    def _told(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """The events without those older than the revision that was asked for. A member that lags behind reports those
        too."""
        new = tuple(event for event in events if event.revision >= self._watch.start)
        if new:
            self._look_at = None  # the receiver of these events reads everything again
            self._next = max(self._next, *(event.revision + 1 for event in new))
        return new

    def _ended(self, reason: str) -> WatchEnded:
        if any(sign in reason for sign in BAD_TOKEN):
            self._router.token = ""
        return WatchEnded(reason)
