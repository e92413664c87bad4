"""Elections on files: candidates are contenders, and the leader is written down inside the doorway.

A candidate's ticket is its place and its sign of life; the term is a number drawn from the same counter when it is
elected, so terms strictly increase and no two leaders share one. Whoever finds that there is no leader alive, be it
a candidate or an observer, elects: the heaviest living candidate, among equals the one with the lowest ticket.
"""

from __future__ import annotations

import asyncio
import fcntl
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TYPE_CHECKING

from vez.engines.base import Leader, Place, Request
from vez.engines.file.bell import Bell, Ear, Ringer
from vez.engines.file.contender import HEAD_NET, contestant
from vez.engines.file.layout import (
    ALL,
    BROKEN,
    COUNTER,
    COUNTER_AT,
    GRANTED_IN_SLOT,
    HELD,
    LEADER,
    LEADER_AT,
    LEAVING,
    MEAN,
    OBSERVING,
    SLOT_BYTES,
    SLOTS_AT,
    STATE_IN_SLOT,
    WAITING,
    store,
)
from vez.engines.file.tickets import Slot, TicketFile, doorway, enter
from vez.engines.file.waiting import FileContender
from vez.errors import Misuse, OwnershipLost

if TYPE_CHECKING:
    from vez.engines.file.ears import LoopEar
    from vez.engines.file.engine import FileEngine

_PAUSE = 0.002
_INAUGURATION = 0.01
"""Seconds that whoever sees no leader gives an inauguration, which takes microseconds."""


def settle(file: TicketFile, handle: int, mine: int, ringer: Ringer) -> None:
    """Inside the doorway: elect, if no leader is alive. `mine` is the ticket that `handle` itself keeps alive."""
    leader, _ = LEADER.unpack_from(file.map, LEADER_AT)
    slots = [(n, s) for n, s in file.slots() if s.ticket == mine or file.alive(handle, s.ticket)]
    for number, slot in slots:
        if leads(slot, leader):
            if slot.state == WAITING:  # its elector died before it wrote that down
                file.map[SLOTS_AT + number * SLOT_BYTES + STATE_IN_SLOT] = HELD
            return
    candidates = [(n, s) for n, s in slots if s.state in (WAITING, HELD)]
    if not candidates:
        if leader:
            store(file.map, LEADER_AT, BROKEN.pack(0))
            _ring(slots, ringer)
        return
    number, winner = min(candidates, key=lambda pair: (-pair[1].weight, pair[1].ticket))
    _inaugurate(file, handle, number, winner.ticket)
    _ring(slots, ringer)


def leads(slot: Slot, leader: int) -> bool:
    """Whether a living slot is the leader's. `leader` is the truth, the state a remark that is written after it; only
    one who resigned or was deposed has lost the office before another is written down."""
    return slot.ticket == leader and slot.state != LEAVING


def leader_now(file: TicketFile, handle: int) -> tuple[int, int]:
    """The ticket of the leader and its term, for those outside the doorway. While one is inaugurated there is none for
    a moment, which is no vacancy: so whoever sees none looks again inside, where no inauguration can be under way."""
    ticket, term = LEADER.unpack_from(file.map, LEADER_AT)
    if not ticket:
        try:
            enter(handle, _INAUGURATION)
            ticket, term = LEADER.unpack_from(file.map, LEADER_AT)
        except BlockingIOError:
            pass
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
    return ticket, term


def _inaugurate(file: TicketFile, handle: int, number: int, ticket: int) -> int:
    term, _ = file.look(handle)
    store(file.map, COUNTER_AT, COUNTER.pack(term + 1, (term + 1) ^ ALL))
    offset = SLOTS_AT + number * SLOT_BYTES
    store(file.map, offset + GRANTED_IN_SLOT, MEAN.pack(time.time()))
    # Read outside the doorway: nobody may see the new leader with the old term.
    store(file.map, LEADER_AT, BROKEN.pack(0))
    store(file.map, LEADER_AT + BROKEN.size, BROKEN.pack(term))
    store(file.map, LEADER_AT, BROKEN.pack(ticket))
    # Last: one that is marked as leader and is none would never be elected again, should we die in between.
    store(file.map, offset + STATE_IN_SLOT, bytes([HELD]))
    return term


def _ring(slots: list[tuple[int, Slot]], ringer: Ringer) -> None:
    for _, slot in slots:
        ringer.ring(slot.bell, slot.ticket)


def depose(file: TicketFile, handle: int, term: int, ringer: Ringer) -> None:
    """Take the office from the leader of a term, and elect another."""
    with doorway(handle, file.where):
        file.look(handle)
        ticket, current = LEADER.unpack_from(file.map, LEADER_AT)
        number = file.find(ticket)
        if current == term and number is not None:
            file.map[SLOTS_AT + number * SLOT_BYTES + STATE_IN_SLOT] = LEAVING
        settle(file, handle, 0, ringer)


class Candidate(FileContender):
    """One candidate, and later the leader."""

    observing = False
    ticket = 0

    def enlist(self, bell: Bell | None, wait: Ear | LoopEar | None) -> bool:
        """Stand as a candidate; the doorway is ours."""
        file = self.file
        file.look(self.handle)
        settle(file, self.handle, 0, self.ringer)
        leader, _ = LEADER.unpack_from(file.map, LEADER_AT)
        if leader and wait is None:
            return False
        self.bell = bell or (wait.open() if wait else None)
        self._stand(self.bell, OBSERVING if self.observing else WAITING, file.look(self.handle)[0])
        self.ticket = self.token
        settle(file, self.handle, self.ticket, self.ringer)
        if not self.observing:
            self.granted()
        return True

    def granted(self) -> bool:
        """Whether we lead by now."""
        if self.inside:
            return True
        self.file.refuse_truncated(self.handle)
        if self.file.map[self.offset + STATE_IN_SLOT] == LEAVING:
            raise OwnershipLost(
                f"this candidate of {self.request.name!r} was elected, and deposed by force before it noticed",
                hint="stand again",
            )
        ticket, term = LEADER.unpack_from(self.file.map, LEADER_AT)
        if ticket != self.ticket:
            return False
        self.state, self.inside, self.token = HELD, True, term
        return True

    def relink(self) -> bool:
        """Before going to sleep: is there a leader? If not, elect one; the caller must look again then."""
        self.file.refuse_truncated(self.handle)
        ticket, _ = LEADER.unpack_from(self.file.map, LEADER_AT)
        if ticket and (ticket == self.ticket or self.file.alive(self.handle, ticket)):
            return False
        if not ticket and self.observing:
            return False
        try:
            enter(self.handle, 0)
            settle(self.file, self.handle, self.ticket, self.ringer)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self.handle, fcntl.LOCK_UN)
        return True

    def watch(self) -> tuple[Sequence[int], float]:
        """The leader's process, and how long to sleep at most."""
        slot = self._leader_slot()
        if slot is None:
            return [], HEAD_NET
        return [pid for pid in (slot.pid,) if pid not in self.ended], HEAD_NET

    def place(self) -> Place:
        """Where we stand: behind the leader and all heavier or earlier candidates."""
        me = (-self.request.weight, self.ticket)
        self.file.refuse_truncated(self.handle)
        leader, term = LEADER.unpack_from(self.file.map, LEADER_AT)
        slots = [s for _, s in self.file.living(self.handle) if s.state in (WAITING, HELD)]
        before = [s for s in slots if leads(s, leader) or (-s.weight, s.ticket) < me]
        inside = [s for s in slots if leads(s, leader)]
        return Place(len(before), None, contestant(inside[0], term=term) if inside else None)

    def why_lost(self) -> str | None:
        """Why we lead no longer."""
        if (why := super().why_lost()) is not None:
            return why
        leader = LEADER.unpack_from(self.file.map, LEADER_AT)
        if leader != (self.ticket, self.token):
            return "another was elected" if leader[0] else "it was deposed"
        return None

    def _rung_by(self) -> int:
        """Rings come for the ticket, not for the term."""
        return self.ticket

    def _ring_next(self) -> None:
        """We have stepped down, or left the list: whoever of the others looks first elects."""
        self.file.reach(self.handle)
        _ring([pair for pair in self.file.slots() if pair[1].state in (WAITING, OBSERVING)], self.ringer)

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader, with a new term."""
        file = self.file
        self._refuse_transfer()
        if self.ear is None:
            with doorway(self.handle, file.where):
                return self._transfer(to)
        try:
            enter(self.handle, 0)  # a loop must not stand still: the client tries again
            return self._transfer(to)
        finally:
            fcntl.flock(self.handle, fcntl.LOCK_UN)

    def _transfer(self, to: str) -> int:
        file = self.file
        self._refuse_transfer()
        found = [(n, s) for n, s in file.living(self.handle) if s.state == WAITING and _label(s) == to]
        if not found:
            others = [_label(s) for _, s in file.living(self.handle) if s.state == WAITING]
            hint = f"candidates: {', '.join(others) or 'none'}"
            raise Misuse(f"there is no candidate {to!r} in {self.request.name!r}", hint=hint)
        file.map[self.offset + STATE_IN_SLOT] = LEAVING
        term = _inaugurate(file, self.handle, found[0][0], found[0][1].ticket)
        _ring(file.living(self.handle), self.ringer)
        return term

    def _refuse_transfer(self) -> None:
        if (why := self.why_lost()) is not None:
            raise Misuse(f"{self.request.name!r} is not led by the one who would transfer it: {why}")

    def leader(self) -> Leader | None:
        """Who leads now."""
        slot = self._leader_slot()
        if slot is None or slot.state == LEAVING:
            return None
        who = contestant(slot)
        return Leader(LEADER.unpack_from(self.file.map, LEADER_AT)[1], who.pid, who.host, who.label, who.since)

    def _leader_slot(self) -> Slot | None:
        self.file.refuse_truncated(self.handle)
        ticket, _ = leader_now(self.file, self.handle)
        if not ticket or (ticket != self.ticket and not self.file.alive(self.handle, ticket)):
            return None
        self.file.refresh(self.handle)
        number = self.file.find(ticket)
        return None if number is None else self.file.slot(number)


class Observer(Candidate):
    """One who is rung at each change, and elects when a leader has died, but never stands."""

    observing = True


def _label(slot: Slot) -> str:
    return slot.label.rstrip(b"\0").decode(errors="replace")


def _observer(engine: FileEngine, name: str) -> Request:
    return Request(name, "election", label="observer")


def observe(engine: FileEngine, name: str, seconds: float | None) -> Iterator[Leader | None]:
    """The leader now, and each change; ends after so many seconds without one."""
    observer = engine.watch_election(_observer(engine, name), seconds)
    try:
        last = observer.leader()
        yield last
        until = None if seconds is None else time.monotonic() + seconds
        while until is None or time.monotonic() < until:
            observer.listen(HEAD_NET * 4 if until is None else max(0.001, until - time.monotonic()))
            if observer.file.removed(observer.handle):
                observer.release()
                observer = engine.watch_election(_observer(engine, name), seconds)
            leader = observer.leader()
            if leader != last:
                last, until = leader, None if seconds is None else time.monotonic() + seconds
                yield leader
    finally:
        observer.release()


async def observe_async(engine: FileEngine, name: str) -> AsyncIterator[Leader | None]:
    """The same for a task, without an end."""
    observer = await _watch_patiently(engine, name)
    try:
        last = observer.leader()
        yield last
        while True:
            await observer.listen_async(1.0)
            if observer.file.removed(observer.handle):
                observer.release()
                observer = await _watch_patiently(engine, name)
            leader = observer.leader()
            if leader != last:
                last = leader
                yield leader
    finally:
        observer.release()


async def _watch_patiently(engine: FileEngine, name: str) -> Candidate:
    """The doorway is asked again and again: the loop must not stand still when somebody is paused in it."""
    while True:
        try:
            return engine.watch_election_async(_observer(engine, name))
        except BlockingIOError:
            await asyncio.sleep(_PAUSE)
