"""Candidate: a request in an election. Its ticket is its place in the queue and its sign of life."""

from __future__ import annotations

from collections.abc import Sequence
from fcntl import LOCK_UN, flock
from typing import TYPE_CHECKING

from vez.errors import OwnershipLost
from vez.locks.engines import handles, queueing
from vez.locks.engines.file.bell import Bell, Ear
from vez.locks.engines.file.byte_locks import alive
from vez.locks.engines.file.doorway import doorway, enter
from vez.locks.engines.file.holding import FileHolding
from vez.locks.engines.file.layout import HELD, LEADER, LEADER_AT, LEAVING, NETWORK, OBSERVING, STATE_IN_SLOT, WAITING
from vez.locks.engines.file.leadership import elect_if_vacant, inaugurate, leader_now, leads, ring_all
from vez.locks.engines.file.slots import Slot, contestant, label_of
from vez.locks.engines.file.waiter import FOREIGN_POLL, HEAD_POLL, Waiter
from vez.locks.engines.wording import no_candidate, not_leading

if TYPE_CHECKING:
    from vez.locks.engines.base import Leader, Place
    from vez.locks.engines.file.ears import LoopEar


class Candidate(Waiter, FileHolding):
    """A candidate, and later the leader."""

    observing = False
    ticket = 0
    transferred = False

    def enlist(self, bell: Bell | None, wait: Ear | LoopEar | None) -> bool:
        """Stand for election, inside the doorway. False, without any change, if there is a leader and `wait` is
        None."""
        file = self.file
        file.look(self.handle)
        elect_if_vacant(file, self.handle, 0, self.ringer)
        leader, _ = LEADER.unpack_from(file.map, LEADER_AT)
        if leader and wait is None:
            return False
        self.bell = bell or (wait.open() if wait else None)
        self.draw(self.bell, OBSERVING if self.observing else WAITING, file.look(self.handle)[0])
        self.ticket = self.token
        elect_if_vacant(file, self.handle, self.ticket, self.ringer)
        if not self.observing:
            self.granted()
        return True

    def granted(self) -> bool:
        """True if this candidate leads. Never blocks."""
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
        """Before a sleep: elect if there is no leader. True if somebody may have been elected, so that the caller must
        ask `granted` again. Tries the doorway without blocking; False when it was busy."""
        self.file.refuse_truncated(self.handle)
        ticket, _ = LEADER.unpack_from(self.file.map, LEADER_AT)
        if ticket and (ticket == self.ticket or alive(self.handle, ticket)):
            return False
        if not ticket and self.observing:
            return False
        try:
            enter(self.handle, 0)
            elect_if_vacant(self.file, self.handle, self.ticket, self.ringer)
        except BlockingIOError:
            return False
        finally:
            flock(self.handle, LOCK_UN)
        return True

    def watch(self) -> tuple[Sequence[int], float]:
        """The leader's process, and the longest sleep in seconds."""
        slot = self._leader_slot()
        if slot is None:
            return [], HEAD_POLL
        longest = HEAD_POLL if slot.network == NETWORK else FOREIGN_POLL
        return [pid for pid in (slot.pid,) if pid not in self.ended], longest

    def place(self) -> Place:
        """Our position: behind the leader and all heavier or earlier candidates."""
        me = (-self.request.weight, self.ticket)
        self.file.refuse_truncated(self.handle)
        self.file.refresh(self.handle)  # heavier ones may have come later
        leader, term = LEADER.unpack_from(self.file.map, LEADER_AT)
        slots = [s for _, s in self.file.living(self.handle) if s.state in (WAITING, HELD)]
        before = [s for s in slots if leads(s, leader) or (-s.weight, s.ticket) < me]
        inside = [s for s in slots if leads(s, leader)]
        return queueing.place(len(before), contestant(inside[0], term=term) if inside else None, None)

    def _find_loss(self) -> str | None:
        if (why := super()._find_loss()) is not None:
            return why
        leader = LEADER.unpack_from(self.file.map, LEADER_AT)
        if leader != (self.ticket, self.token):
            return "another was elected" if leader[0] else "it was deposed"
        return None

    def loss(self) -> str | None:
        """Reason of the loss, or None. A transfer is not a loss either."""
        return None if self.transferred else super().loss()

    def release(self) -> None:
        """Resign, or leave the queue. Only the leader's entry shows if another candidate was elected."""
        if self.inside and self.generation == handles.generation:
            with handles.gate:  # another thread may release it at this moment
                if self.state == HELD and self.lost is None:
                    self.lost = self._find_loss()
        super().release()

    def ring_number(self) -> int:
        """The ticket, because rings do not carry the term."""
        return self.ticket

    def ring_next(self) -> None:
        """Wake all candidates and observers. The first one that looks elects the next leader."""
        self.file.refresh_if_possible(self.handle)
        ring_all([pair for pair in self.file.slots() if pair[1].state in (WAITING, OBSERVING)], self.ringer)

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader. Returns its term."""
        self._refuse_transfer()
        with doorway(self.handle, self.file.where):
            return self._transfer(to)

    def transfer_at_once(self, to: str) -> int:
        """Non-blocking version of `transfer`. Raises `BlockingIOError` while the doorway is busy."""
        self._refuse_transfer()
        try:
            enter(self.handle, 0)
            return self._transfer(to)
        finally:
            flock(self.handle, LOCK_UN)

    def _transfer(self, to: str) -> int:
        file = self.file
        self._refuse_transfer()
        file.refresh(self.handle)
        found = [(n, s) for n, s in file.living(self.handle) if s.state == WAITING and label_of(s) == to]
        if not found:
            others = [label_of(s) for _, s in file.living(self.handle) if s.state == WAITING]
            raise no_candidate(self.request, to, others)
        term = inaugurate(file, self.handle, found[0][0], found[0][1].ticket)
        self.transferred = True
        file.map[self.offset + STATE_IN_SLOT] = LEAVING
        ring_all(file.living(self.handle), self.ringer)
        return term

    def _refuse_transfer(self) -> None:
        if (why := self.why_lost()) is not None:
            raise not_leading(self.request, why)

    def leader(self) -> Leader | None:
        """The current leader, or None."""
        slot = self._leader_slot()
        if slot is None or slot.state == LEAVING:
            return None
        who = contestant(slot)
        from vez.locks.engines.base import Leader

        return Leader(LEADER.unpack_from(self.file.map, LEADER_AT)[1], who.pid, who.host, who.label, who.since)

    def _leader_slot(self) -> Slot | None:
        self.file.refuse_truncated(self.handle)
        ticket, _ = leader_now(self.file, self.handle)
        if not ticket or (ticket != self.ticket and not alive(self.handle, ticket)):
            return None
        self.file.refresh(self.handle)
        number = self.file.find(ticket)
        return None if number is None else self.file.slot(number)
