"""Protocols that declare a symmetry: some correctly, some wrongly, and some for which only a fault shows the mistake."""

from __future__ import annotations

from typing import ClassVar, Literal

from tests.worlds.crosscheck.protocols import Scrawl, Word, draw
from tests.worlds.crosscheck.timed import BOUNDS, Timed
from vez.core import Io, Mutex, Ring


class Alike(Scrawl, Mutex):
    """Compares identifiers only for equality, and sends the same to everybody."""

    name = "alike"
    symmetry: ClassVar[Literal["", "full", "rotation"]] = "full"
    identifier_fields: ClassVar[tuple[str, ...]] = ("last",)
    asked: bool = False
    last: int = -1  # who spoke last; -1: nobody

    def on_want(self, io: Io) -> None:
        self.asked = True
        self.run(io, 10, hops=1 + draw(self.seed, 8) % 2)

    def on_done(self, io: Io) -> None:
        self.run(io, 11)

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        again = sender == self.last
        self.last = sender
        self.run(io, 12, message.kind, again, hops=message.hops)

    def on_timer_bell(self, io: Io) -> None:
        self.run(io, 13)

    def do(self, instruction: int, io: Io, hops: int) -> None:
        if instruction not in (3, 4, 5):
            super().do(instruction, io, hops)
        elif hops:
            self.tell(io, hops)

    def tell(self, io: Io, hops: int) -> None:
        """Send a message to the process that sent last, or to everybody."""
        if self.last >= 0 and draw(self.seed, 7, int(self.value)) % 2:
            io.send(self.last, Word(self.kept, hops - 1))
        else:
            io.broadcast(Word(self.kept, hops - 1))

    def speak(self, io: Io) -> None:
        if self.asked:
            self.asked = False
            io.enter()


class Ranked(Alike):
    """Declares the same symmetry wrongly: it sends to the smallest process."""

    name = "ranked"
    symmetry = "full"

    def tell(self, io: Io, hops: int) -> None:
        if draw(self.seed, 7, int(self.value)) % 3:
            super().tell(io, hops)
        else:
            io.send(min(io.peers), Word(self.kept, hops - 1))


class Unlisted(Alike):
    """Declares the same symmetry, but does not list the field that holds an identifier."""

    name = "unlisted"
    symmetry = "full"
    identifier_fields = ()


class RankedAfterCrash(Alike):
    """Compares identifiers only after a recovery."""

    name = "ranked-after-crash"
    symmetry = "full"

    def on_recover(self, io: Io) -> None:
        self.last = min(io.peers)


class AlikeInTime(Timed, Alike):
    """With timers that all processes set alike."""

    name = "alike-in-time"
    symmetry = "full"
    assumes = BOUNDS


class Round(Alike):
    """Round a ring: only the right neighbour is told, and nobody looks at identifiers."""

    name = "round"
    topology = Ring
    symmetry = "rotation"

    def tell(self, io: Io, hops: int) -> None:
        io.send(io.right, Word(self.kept, hops - 1))


class NotRound(Round):
    """Declares the same symmetry wrongly: the process with the smallest identifier does not pass messages on."""

    name = "not-round"
    symmetry = "rotation"

    def tell(self, io: Io, hops: int) -> None:
        if io.me > 1 or not self.asked:
            super().tell(io, hops)


TRUE = (Alike, AlikeInTime, Round)
FALSE = (Ranked, Unlisted, RankedAfterCrash, NotRound)
SYMMETRIC = (*TRUE, *FALSE)
