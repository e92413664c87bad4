"""Bells: how a waiter is woken. A ring is a hint and may be lost; the byte locks are the truth.

A bell is a datagram socket in the kernel's abstract namespace: it leaves no file behind, and vanishes with its
process. Whoever knows its number may ring it, and all that a false ring does is to make a waiter look again.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import threading
from collections import OrderedDict
from collections.abc import Sequence

from vez.engines import handles

_TICKET = struct.Struct("<Q")
_ADDRESS = b"\0vez-"
POLL_MS = 5
"""Milliseconds in which a turn is soon: for so long a thread waits on its bell alone, which is the shortest sleep, and
only then on the ends of processes too. So the end of a process is noticed at most so much later."""
QUEUE_LENGTH = 10
"""How many rings the kernel keeps for a bell (net.unix.max_dgram_qlen); those beyond it are lost."""
_WATCHED = 64
"""Processes whose end a thread or loop may watch at once; a descriptor each."""


_NOBODY: frozenset[int] = frozenset()


class _Closing:
    """Closes itself when nobody knows it any more."""

    def close(self) -> None:
        """Give up what is open."""
        raise NotImplementedError

    def __del__(self) -> None:
        try:  # noqa: SIM105  at the interpreter's end nothing is left to suppress or to close with
            self.close()
        except Exception:  # noqa: S110
            pass


class Bell(_Closing):
    """The doorbell of one thread or one event loop."""

    def __init__(self) -> None:
        self.generation = handles.generation
        self.socket = handles.open_socket()
        while True:
            self.number = os.urandom(8)
            with contextlib.suppress(OSError):
                self.socket.bind(_ADDRESS + self.number)
                break
        self.poller = select.poll()
        self.poller.register(self.socket, select.POLLIN)
        # A ring was noticed and is still in the socket. It is read before the next sleep, not while a waiter waits for
        # our turn to end.
        self.pending = False

    def fileno(self) -> int:
        """For poll and event loops."""
        return self.socket.fileno()

    def take(self) -> None:
        """Take the oldest ring. Should there be another, the next sleep ends at once."""
        self.pending = False
        with contextlib.suppress(OSError):
            self.socket.recv(16)

    def heard(self) -> list[int]:
        """Take all rings that have come: the tickets for which they were meant."""
        tickets = []
        try:
            while True:
                raw = self.socket.recv(16)
                if len(raw) == _TICKET.size:
                    tickets.append(_TICKET.unpack(raw)[0])
        except OSError:
            return tickets

    def close(self) -> None:
        """Nobody listens any more."""
        if self.generation == handles.generation:
            handles.close_socket(self.socket)


class Ringer:
    """The sending side, one for the process: who leaves a client that was closed still rings."""

    def __init__(self) -> None:
        self.generation = handles.generation
        self.socket = handles.open_socket()

    def ring(self, number: bytes, ticket: int) -> None:
        """Wake whoever waits with this ticket. A full or vanished bell does not matter."""
        try:
            self.socket.sendto(_TICKET.pack(ticket), _ADDRESS + number)
        except OSError:
            return


_ringer: Ringer | None = None


def the_ringer() -> Ringer:
    """The one of this process; a forked child gets its own."""
    global _ringer
    with handles.gate:
        if _ringer is None or _ringer.generation != handles.generation:
            _ringer = Ringer()
        return _ringer


class Watch(_Closing):
    """Descriptors that tell the end of other processes, kept for the next wait."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, int] = OrderedDict()
        self.generation = handles.generation

    def of(self, process: int) -> int | None:
        """A descriptor that becomes readable when the process ends; nothing if it cannot be had (a process of
        another namespace, or gone already)."""
        known = self._known.get(process)
        if known is not None:
            self._known.move_to_end(process)
            return known
        try:
            made = handles.open_pidfd(process)
        except OSError:
            return None
        self._known[process] = made
        if len(self._known) > _WATCHED:
            handles.close_handle(self._known.popitem(last=False)[1])
        return made

    def forget(self, process: int) -> None:
        """The process has ended, or its number means another by now."""
        if (known := self._known.pop(process, None)) is not None:
            handles.close_handle(known)

    def close(self) -> None:
        """Forget all."""
        while self._known and self.generation == handles.generation:
            handles.close_handle(self._known.popitem()[1])


class Ear(threading.local):
    """What one thread sleeps on: its bell, and the ends of the processes for which it has waited of late. Made at the
    first wait, gone with the thread. The end of any of them may end a sleep; looking once too often is harmless."""

    def __init__(self) -> None:
        self.generation = -1

    def open(self) -> Bell:
        """This thread's bell; a forked child gets its own."""
        if self.generation != handles.generation:
            bell, sleep = Bell(), _Sleep()
            sleep.epoll.register(bell.fileno(), select.EPOLLIN)
            self.bell, self._number, self._sleep = bell, bell.fileno(), sleep
            self.generation = handles.generation  # last: an interrupt may have come before
        return self.bell

    def listen(self, processes: Sequence[int], seconds: float) -> frozenset[int]:
        """Sleep until the bell rings, one of the processes ends, or the time is over. Those that ended, or cannot be
        watched."""
        known = self._sleep.known
        for process in processes:
            if process not in known and not self._watch(process):
                return frozenset((process,))
        events = self._sleep.epoll.poll(seconds, 8)
        if not events:
            return _NOBODY
        ended: set[int] = set()
        for descriptor, _ in events:
            if descriptor == self._number:
                self.bell.take()
            else:
                ended |= {process for process, mine in known.items() if mine == descriptor}
        for process in ended:
            self._forget(process)
        return frozenset(ended)

    def _watch(self, process: int) -> bool:
        try:
            descriptor = handles.open_pidfd(process)
        except OSError:  # gone already, or we may open no more
            return False
        self._sleep.known[process] = descriptor
        self._sleep.epoll.register(descriptor, select.EPOLLIN)
        if len(self._sleep.known) > _WATCHED:
            self._forget(next(iter(self._sleep.known)))
        return True

    def _forget(self, process: int) -> None:
        descriptor = self._sleep.known.pop(process)
        self._sleep.epoll.unregister(descriptor)
        handles.close_handle(descriptor)


class _Sleep:
    """An epoll that is closed when its thread is gone, with what is registered there."""

    def __init__(self) -> None:
        self.epoll = handles.open_epoll()
        self.known: OrderedDict[int, int] = OrderedDict()  # process -> the descriptor that tells its end
        self.generation = handles.generation

    def __del__(self) -> None:
        try:
            if self.generation == handles.generation:
                handles.close_epoll(self.epoll)
                while self.known:
                    handles.close_handle(self.known.popitem()[1])
        except Exception:  # noqa: S110
            pass
