"""Mistakes in asking everybody (`ricart-agrawala`)."""

from __future__ import annotations

from vez.catalogue.mutex.ricart_agrawala import HELD, RELEASED, WANTED, Reply, Request, RicartAgrawala
from vez.catalogue.zoo.specimen import Specimen, crowd
from vez.core import Io, Property


class SilentExit(RicartAgrawala):
    """Makes a mistake when it leaves."""

    name = "zoo:silent-exit"
    wrong = "the deferred set is cleared before it is answered"

    def on_done(self, io: Io) -> None:
        self.state = RELEASED
        self.deferred = frozenset()
        for process in sorted(self.deferred):
            io.send(process, Reply(self.clock))


class Twins(RicartAgrawala):
    """Makes a mistake when it compares timestamps."""

    name = "zoo:twins"
    wrong = "equal timestamps are not told apart by identifiers, and both give way"

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        older = self.timestamp < message.timestamp
        if self.state == HELD or (self.state == WANTED and older):
            self.deferred |= {sender}
        else:
            io.send(sender, Reply(self.clock))


class StandOff(RicartAgrawala):
    """Makes the opposite mistake when it compares timestamps."""

    name = "zoo:stand-off"
    wrong = "equal timestamps are not told apart by identifiers, and nobody gives way"

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        older = self.timestamp <= message.timestamp
        if self.state == HELD or (self.state == WANTED and older):
            self.deferred |= {sender}
        else:
            io.send(sender, Reply(self.clock))


class OpenDoor(RicartAgrawala):
    """Makes a mistake when it replies."""

    name = "zoo:open-door"
    wrong = "a process that is inside replies at once"

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        older = (self.timestamp, io.me) < (message.timestamp, sender)
        if self.state == WANTED and older:
            self.deferred |= {sender}
        else:
            io.send(sender, Reply(self.clock))


class SlowWatch(RicartAgrawala):
    """Makes a mistake with its clock."""

    name = "zoo:slow-watch"
    wrong = "the clock does not move when a message arrives"

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        older = (self.timestamp, io.me) < (message.timestamp, sender)
        if self.state == HELD or (self.state == WANTED and older):
            self.deferred |= {sender}
        else:
            io.send(sender, Reply(self.clock))

    def on_reply(self, message: Reply, sender: int, io: Io) -> None:
        self.awaited -= {sender}
        if self.state == WANTED and not self.awaited:
            self.state = HELD
            io.enter()


SPECIMENS = (
    Specimen(
        algorithm=SilentExit,
        honest=RicartAgrawala,
        breaks=Property.DEADLOCK_FREEDOM,
        teaches="What a process that leaves owes to those who wait.",
        answer=(
            "on_done clears `deferred` and then iterates over it, so nobody gets a reply. The deferred processes wait "
            "for ever. Copy the set first, clear it, then reply to those in the copy."
        ),
        world=crowd(SilentExit, 3),
    ),
    Specimen(
        algorithm=Twins,
        honest=RicartAgrawala,
        breaks=Property.EXCLUSION,
        teaches="A logical clock alone gives no total order.",
        answer=(
            "Two requests have the same timestamp. Each process finds that its own is not older, and replies at once. "
            "Both get all replies. Compare (timestamp, identifier)."
        ),
        world=crowd(Twins, 3),
    ),
    Specimen(
        algorithm=StandOff,
        honest=RicartAgrawala,
        breaks=Property.DEADLOCK_FREEDOM,
        teaches="A logical clock alone gives no total order: the opposite mistake.",
        answer=(
            "Two requests have the same timestamp. Each process takes its own for the older one and defers the other. "
            "Both wait for ever. Compare (timestamp, identifier)."
        ),
        world=crowd(StandOff, 3),
    ),
    Specimen(
        algorithm=OpenDoor,
        honest=RicartAgrawala,
        breaks=Property.EXCLUSION,
        teaches="Which states must be distinguished when somebody asks.",
        answer=(
            "Only a process that waits defers requests. One that is inside replies at once, and the requester enters "
            "too. While HELD, defer everybody."
        ),
        world=crowd(OpenDoor, 3),
    ),
    Specimen(
        algorithm=SlowWatch,
        honest=RicartAgrawala,
        breaks=Property.EXCLUSION,
        teaches="What a logical clock does when a message arrives.",
        answer=(
            "The clock only counts the process's own requests. A process that has replied to a request can then ask "
            "with an older timestamp, and is let in before the one that it has let in. On every arrival the clock "
            "must become at least the timestamp that came."
        ),
        world=crowd(SlowWatch, 3),
    ),
)
