"""etcd-break: the lock of etcd, where the last process takes it from its holders by force, once and at any moment.

The last process takes no turns of its own. Clients that renew their session learn of the break from the key that the
breaker writes. All others learn it when they leave, because their key is gone. The model judges the rules of the lock
and these:

    theft      the breaker removed the key of a waiter, or one that it had not recorded
    untold     a client leaves, its turn was broken, and it does not know; or the breaker removed the key of a client of
               vez without a word to it
    unbroken   the breaker says that it took a turn whose key is there
"""

from __future__ import annotations

from typing import Any, ClassVar

from vez.core.io import Io
from vez.core.message import Message
from vez.core.process import Parameter
from vez.errors import ProtocolBug
from vez.locks.models.recipes.etcd_lock import EtcdLock
from vez.locks.models.recipes.others import MANY_INSIDE
from vez.locks.models.recipes.positions import Maker
from vez.locks.models.recipes.rules import holders
from vez.locks.models.recipes.server import Left
from vez.locks.models.recipes.store import Store
from vez.locks.models.recipes.turns import NAME
from vez.locks.recipes.etcd.breaking import HEAR, Pace, break_by_force, record_prefix
from vez.locks.recipes.etcd.semaphore import acquire_permit
from vez.locks.recipes.etcd.session import SESSIONS
from vez.locks.recipes.etcd.shown import FORMAT, Member, Shown, encode

LOOKS = 2
"""Number of looks of the breaker whether the holders have learned of it."""


class Broke(Message):
    """Not part of etcd: the breaker says which holdings it has taken."""

    tokens: tuple[int, ...]


def record(tokens: tuple[int, ...]) -> str:
    """The record of a forced release, as short as possible."""
    return " ".join(map(str, tokens))


def words_of(known: tuple[int, ...], store: Store) -> tuple[int, ...]:
    """The tokens of the turns whose holders were sent a word: those known so far, and those of words that are there."""
    words = (
        entry.value.split() for entry in store.entries if entry.key.startswith(SESSIONS) and entry.key.count("/") > 2
    )
    return tuple(sorted({*known, *(int(word[1]) for word in words)}))


def refuse_untold(words: tuple[int, ...], one: Member, sender: int) -> None:
    """Raise if a breaker removes the key of a client of vez that was sent no word."""
    if one.shown is not None and one.entry.create not in words:
        raise ProtocolBug(f"untold: process {sender} removes the key {one.entry.key} and told its holder nothing")


class EtcdBreak(EtcdLock):
    """The exclusive lock, and a last process that takes it from its holder by force."""

    name = "recipe:etcd-break"
    break_recipe: ClassVar[Maker] = break_by_force
    least: ClassVar[tuple[tuple[str, int], ...]] = (*EtcdLock.least, ("at_once", 1))

    at_once: Parameter[int] = 30
    """Largest number of holders in one transaction."""
    grace: Parameter[bool] = False
    """True if holders ask for time to leave."""
    heard: int = 0
    """Token of the turn that was broken, as the renewal has learned."""
    words: tuple[int, ...] = ()
    """At the server: tokens of the turns whose holders were sent a word."""
    ending: tuple[int, bool] = (0, False)
    """Token of the turn that is being left, and whether the client knows that it had lost it."""

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The clients: all but the server and the breaker."""
        return ids[1:-1]

    def on_start(self, io: Io) -> None:
        super().on_start(io)
        if io.me == max(io.me, *io.peers):
            io.set_timer("break", 1)

    def on_timer_break(self, io: Io) -> None:
        pace = Pace(HEAR / LOOKS, self.at_once)
        self._begin("break", type(self).break_recipe, NAME, self.kind, NAME, io.me, record, "why", pace, io=io)

    def on_broke(self, message: Broke, sender: int, io: Io) -> None:
        for one in self.store.queue():
            if one.entry.create in message.tokens:
                raise ProtocolBug(f"unbroken: the key {one.entry.key} is there although process {sender} has broken it")

    def _request(self, io: Io) -> tuple[object, ...]:
        return (encode(Shown(FORMAT, "lock", grace_ms=self._grace_ms())),)

    def _grace_ms(self) -> int:
        return round(HEAR * 1000) if self.grace else 0

    def _may_remove(self, one: Member, before: Store, after: Store, sender: int) -> bool:
        token = one.entry.create
        records = [entry for entry in before.entries if entry.key.startswith(record_prefix(self.kind, NAME))]
        noted = any(str(token) in entry.value.split() for entry in records)
        if not noted or one not in holders(self.kind, before.queue()):
            return False
        refuse_untold(self.words, one, sender)
        self.taken = (*self.taken, token)
        return True

    def _become(self, after: Store, io: Io) -> None:
        self.words = words_of(self.words, after)
        super()._become(after, io)

    def _lose_turn(self, token: int, io: Io) -> None:
        self.heard = token

    def _over(self, result: Any, io: Io) -> None:
        if self.doing == "break":
            self.doing = ""
            io.send(io.hub, Broke(result))
            return
        if self.doing == "leave" and self.seat is not None:
            unsure = self.doubted > 0  # without a reply, it is unknown who has removed the key
            self.ending = (self.seat.token, unsure or not result or self.heard == self.seat.token)
        super()._over(result, io)

    def _farewell(self) -> Left:
        (token, knows), self.ending, self.heard = self.ending, (0, False), 0
        return Left(self.turn, token, knows)


class EtcdBreakPermits(EtcdBreak):
    """The semaphore, and a last process that takes all permits from their holders by force."""

    name = "recipe:etcd-break-permits"
    kind = "semaphore"
    history = True
    guarantees = MANY_INSIDE
    acquire_recipe: ClassVar[Maker] = acquire_permit
    least: ClassVar[tuple[tuple[str, int], ...]] = (*EtcdBreak.least, ("limit", 1))

    limit: Parameter[int] = 1

    def _limit(self) -> int:
        return self.limit

    def _request(self, io: Io) -> tuple[object, ...]:
        return (Shown(FORMAT, "semaphore", limit=self.limit, grace_ms=self._grace_ms()),)
