"""Leadership: the leader's entry, written into the file inside the doorway.

The term is a number drawn from the counter of the tickets when a candidate is elected, so terms strictly increase and
no two leaders share one. A candidate or observer that finds no living leader elects one: the heaviest living candidate,
among equals the one with the lowest ticket.
"""

from __future__ import annotations

import time
from fcntl import LOCK_UN, flock

from vez.locks.engines.file.bell import Ringer
from vez.locks.engines.file.byte_locks import alive
from vez.locks.engines.file.doorway import doorway, enter
from vez.locks.engines.file.layout import (
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
    SLOT_BYTES,
    SLOTS_AT,
    STATE_IN_SLOT,
    WAITING,
    damaged,
    store,
)
from vez.locks.engines.file.slots import Slot
from vez.locks.engines.file.ticket_file import TicketFile

_INAUGURATION = 0.01
"""Seconds for which a reader that sees no leader waits for an inauguration to end, which takes microseconds."""


def elect_if_vacant(file: TicketFile, handle: int, mine: int, ringer: Ringer) -> None:
    """Elect if no leader is alive. Call inside the doorway. `mine` is the ticket whose byte `handle` itself has locked,
    0 if none."""
    file.refresh(handle)  # candidates and leaders may have come since we mapped it
    leader, _ = LEADER.unpack_from(file.map, LEADER_AT)
    slots = [(n, s) for n, s in file.slots() if s.ticket == mine or alive(handle, s.ticket)]
    if leader and (leader == mine or alive(handle, leader)) and not any(slot.ticket == leader for _, slot in slots):
        raise damaged(file.where, f"candidate {leader} leads and is alive, and no slot is its own")
    for number, slot in slots:
        if leads(slot, leader):
            if slot.state == WAITING:  # the elector died before it wrote the state
                file.map[SLOTS_AT + number * SLOT_BYTES + STATE_IN_SLOT] = HELD
            return
    candidates = [(n, s) for n, s in slots if s.state in (WAITING, HELD)]
    if not candidates:
        if leader:
            store(file.map, LEADER_AT, BROKEN.pack(0))
            ring_all(slots, ringer)
        return
    number, winner = min(candidates, key=lambda pair: (-pair[1].weight, pair[1].ticket))
    inaugurate(file, handle, number, winner.ticket)
    ring_all(slots, ringer)


def leads(slot: Slot, leader: int) -> bool:
    """True if a living slot is the leader's. The entry `leader` decides, because the state is written after it. The
    exception is a leader that resigned or was deposed: it has lost the leadership before another entry is written."""
    return slot.ticket == leader and slot.state != LEAVING


def leader_now(file: TicketFile, handle: int) -> tuple[int, int]:
    """The leader's ticket and term, read outside the doorway. During an inauguration there is no leader for a moment,
    which is not a vacancy. So a reader that sees no leader looks again inside the doorway, where no inauguration can be
    under way."""
    ticket, term = LEADER.unpack_from(file.map, LEADER_AT)
    if not ticket:
        try:
            enter(handle, _INAUGURATION)
            ticket, term = LEADER.unpack_from(file.map, LEADER_AT)
        except BlockingIOError:
            pass
        finally:
            flock(handle, LOCK_UN)
    return ticket, term


def inaugurate(file: TicketFile, handle: int, number: int, ticket: int) -> int:
    """Make the candidate of this slot leader. Returns its term. Call inside the doorway."""
    term, _ = file.look(handle)
    store(file.map, COUNTER_AT, COUNTER.pack(term + 1, (term + 1) ^ ALL))
    offset = SLOTS_AT + number * SLOT_BYTES
    store(file.map, offset + GRANTED_IN_SLOT, MEAN.pack(time.time()))
    # Read outside the doorway: nobody may see the new leader with the old term.
    store(file.map, LEADER_AT, BROKEN.pack(0))
    store(file.map, LEADER_AT + BROKEN.size, BROKEN.pack(term))
    store(file.map, LEADER_AT, BROKEN.pack(ticket))
    # Last: a candidate marked as leader that is not the leader would never be elected again, should we die in between.
    store(file.map, offset + STATE_IN_SLOT, bytes([HELD]))
    return term


def ring_all(slots: list[tuple[int, Slot]], ringer: Ringer) -> None:
    """Wake the requests of these slots."""
    for _, slot in slots:
        ringer.ring(slot.bell, slot.ticket)


def depose(file: TicketFile, handle: int, term: int, ringer: Ringer) -> None:
    """Take the leadership from the leader of a term, and elect another."""
    with doorway(handle, file.where):
        file.look(handle)
        ticket, current = LEADER.unpack_from(file.map, LEADER_AT)
        number = file.find(ticket)
        if current == term and number is not None:
            file.map[SLOTS_AT + number * SLOT_BYTES + STATE_IN_SLOT] = LEAVING
        elect_if_vacant(file, handle, 0, ringer)
