"""Random protocols: the actions of every handler are drawn from a seed.

Messages carry a number of hops, and timers a number of settings, so that most protocols have few states; some never end.
They do not follow the structure of textbook algorithms, so they exercise what the catalogue does not: choices, durable
fields, timers that are set again, suspicions, messages of a process to itself, equal values of different types.
"""

from __future__ import annotations

from typing import ClassVar

from vez.core import Assumption, BidirectionalRing, Durable, Election, Io, Message, Mutex, Parameter, Process, Ring


class Word(Message):
    """Its effect depends on its kind. It is sent on while it has hops left."""

    kind: int
    hops: int


def draw(seed: int, *keys: int) -> int:
    """A number from 0 to 1008 that the seed and the keys decide, the same on any machine."""
    mixed = seed * 7919 + 12345
    for key in keys:
        mixed = (mixed ^ (key + 77)) * 2654435761 % (1 << 61)
        mixed ^= mixed >> 17
    return (mixed >> 13) % 1009


class Scrawl(Process):
    """The common part: programs of one to three instructions, drawn for each event and state."""

    cost: ClassVar[int] = 1  # of setting a timer
    seed: Parameter[int] = 0
    delay: Parameter[float] = 0.0  # of a message at most, where the protocol has time
    stay: Parameter[float] = 0.0  # at most, where the protocol has time; 0: no bound
    value: int | bool = 0
    kept: Durable[int] = 0
    supply: int = 1

    def run(self, io: Io, *event: int, hops: int = 1) -> None:
        """Run the program of an event."""
        length = 1 + draw(self.seed, 1, *event, int(self.value)) % 3
        for at in range(length):
            self.do(draw(self.seed, 2, at, *event, int(self.value)) % 14, io, hops)

    def do(self, instruction: int, io: Io, hops: int) -> None:
        """One instruction."""
        if instruction == 0:
            self.value = (int(self.value) + 1) % 3
        elif instruction == 1:
            self.kept = (self.kept + 1) % 2
        elif instruction == 2:
            self.value = self.kept == 1  # a bool, equal to a number
        elif instruction in (3, 4) and hops:
            others = io.neighbours
            io.send(others[draw(self.seed, 3, int(self.value)) % len(others)], Word(self.kept, hops - 1))
        elif instruction == 5 and hops:
            for peer in io.neighbours:
                io.send(peer, Word(2, hops - 1))
        elif instruction in (6, 7) and self.supply:
            self.supply -= self.cost
            self.wind(io)
        elif instruction == 8:
            self.stop(io)
        elif instruction == 9:
            self.value = io.choose((0, 2))
        elif instruction == 10 and hops:
            io.send(io.me, Word(1, hops - 1))
        else:
            self.speak(io)

    def wind(self, io: Io) -> None:
        """Set a timer."""
        io.set_timer("bell", 3.0 + self.kept)

    def stop(self, io: Io) -> None:
        """Cancel a timer, whether it runs or not."""
        io.cancel_timer("bell")

    def speak(self, io: Io) -> None:
        """The actions of only a mutex, or only an election."""


class RandomMutex(Scrawl, Mutex):
    """Gets in whenever its program says so and it waits."""

    name = "random-mutex"
    asked: bool = False

    def on_want(self, io: Io) -> None:
        self.asked = True
        self.run(io, 10, hops=2)

    def on_done(self, io: Io) -> None:
        self.run(io, 11)

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.run(io, 12, message.kind, hops=message.hops)

    def on_timer_bell(self, io: Io) -> None:
        self.run(io, 13)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.run(io, 14, peer)

    def speak(self, io: Io) -> None:
        if self.asked:
            self.asked = False
            io.enter()


class RandomElection(Scrawl, Election):
    """Names itself, the smallest peer or a process in another term, as its program says."""

    name = "random-election"

    def on_elect(self, io: Io) -> None:
        self.run(io, 10, hops=2)

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.run(io, 12, message.kind, hops=message.hops)

    def on_timer_bell(self, io: Io) -> None:
        self.run(io, 13)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.run(io, 14, peer)

    def on_trust(self, peer: int, io: Io) -> None:
        self.run(io, 15, peer)

    def speak(self, io: Io) -> None:
        term = draw(self.seed, 4, int(self.value)) % 2
        if draw(self.seed, 6, int(self.value)) % 8 == 0:
            io.elected(None, term)
        else:
            io.elected(io.me if self.kept or self.value else min(io.peers), term)


class EndlessMutex(RandomMutex):
    """Its messages and timers never end, so that runs are endless."""

    name = "endless-mutex"
    cost = 0

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.run(io, 12, message.kind, hops=1)


class EndlessElection(RandomElection):
    """Its messages and timers never end, so that runs are endless."""

    name = "endless-election"
    cost = 0

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.run(io, 12, message.kind, hops=1)


class RetractingMutex(RandomMutex):
    """Takes a request back when the application no longer waits."""

    name = "retracting-mutex"

    def on_withdraw(self, io: Io) -> None:
        self.asked = False
        self.run(io, 16)


class RingMutex(RandomMutex):
    """On a ring, where messages go to the right only."""

    name = "ring-mutex"
    topology = Ring


class RingElection(EndlessElection):
    """On a ring with two directions, for ever."""

    name = "ring-election"
    topology = BidirectionalRing


class Blinking(Mutex):
    """Messages circulate for ever and turn a timer off and on: it is due repeatedly, but never for long."""

    name = "blinking"
    topology = Ring
    seed: Parameter[int] = 0
    asked: bool = False
    lit: bool = False

    def on_want(self, io: Io) -> None:
        self.asked = self.lit = True
        io.set_timer("bell", 5.0)
        io.send(io.right, Word(0, 0))

    def on_done(self, io: Io) -> None:
        self.asked = False

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.lit = not self.lit
        if self.lit:
            io.set_timer("bell", 5.0)
        else:
            io.cancel_timer("bell")
        io.send(io.right, message)

    def on_timer_bell(self, io: Io) -> None:
        self.lit = False
        if self.asked:
            self.asked = False
            io.enter()


class Postponing(Blinking):
    """Messages circulate for ever and set a timer again each time: it is due in every state, and never runs out."""

    name = "postponing"

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.lit = True
        io.set_timer("bell", 5.0)
        io.send(io.right, message)


class Echo(Blinking):
    """Sends to itself for ever: every step leads back to the same state."""

    name = "echo"

    def on_want(self, io: Io) -> None:
        self.asked = True
        io.send(io.me, Word(0, 0))

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        io.send(io.me, message)


class Ledger(Mutex):
    """Writes, sends and writes again before it enters. After a recovery it continues from the stored fields."""

    name = "ledger"
    seed: Parameter[int] = 0
    written: Durable[int] = 0

    def on_want(self, io: Io) -> None:
        self.written += 1
        io.send(io.peers[0], Word(self.written, 0))
        self.written += 2
        io.send(io.peers[0], Word(self.written, 0))
        io.enter()

    def on_done(self, io: Io) -> None:
        pass

    def on_recover(self, io: Io) -> None:
        io.send(io.peers[0], Word(self.written, 1))

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.written = message.kind


class Hail(Election):
    """Each process tells the other once which leader it would follow. A process that receives nothing follows
    nobody."""

    name = "hail"
    seed: Parameter[int] = 0

    def on_elect(self, io: Io) -> None:
        io.send(io.peers[0], Word(0, 0))

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        io.elected(io.hub)


class Impatient(Mutex):
    """Process 1 is in for 2 ms at most; process 2 goes in 4 ms after it was told of that."""

    name = "impatient"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES, Assumption.KNOWN_BOUNDS, Assumption.BOUNDED_STAY)
    waiting: bool = False

    def longest_stay_ms(self) -> float | None:
        return 2.0

    def on_want(self, io: Io) -> None:
        if io.me == io.hub:
            io.enter()
            io.send(2, Word(0, 0))
        self.waiting = True

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        if self.waiting:
            io.set_timer("patience", 4.0)

    def on_timer_patience(self, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        self.waiting = False


class SelfStartingElection(RandomElection):
    """Runs a program when it starts, before anybody is asked."""

    name = "self-starting-election"

    def on_start(self, io: Io) -> None:
        self.run(io, 9, io.me, hops=2)


class DrowsyElection(RandomElection):
    """Does nothing before it is asked or gets a message. From then on it leads when the detector reports a crash."""

    name = "drowsy-election"
    awake: bool = False
    bereaved: bool = False

    def on_elect(self, io: Io) -> None:
        for peer in io.neighbours:
            io.send(peer, Word(0, 0))
        self.wake(io)
        self.run(io, 10)

    def on_word(self, message: Word, sender: int, io: Io) -> None:
        self.wake(io)
        self.run(io, 12, message.kind, hops=message.hops)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.bereaved = True
        if self.awake:
            io.elected(io.me)

    def on_trust(self, peer: int, io: Io) -> None:
        pass

    def wake(self, io: Io) -> None:
        """React to the first word of an election."""
        self.awake = True
        if self.bereaved:
            io.elected(io.me)

    def speak(self, io: Io) -> None:
        io.elected(io.me, draw(self.seed, 4, int(self.value)) % 2)


PROTOCOLS = (RandomMutex, RandomElection, EndlessMutex, EndlessElection, RetractingMutex, RingMutex, RingElection)
ELECTIONS = (RandomElection, EndlessElection, RingElection, SelfStartingElection, DrowsyElection)
"""Random protocols. `FAIRNESS` has those whose verdict depends on the kind of fairness."""
FAIRNESS = (Blinking, Postponing, Echo)
