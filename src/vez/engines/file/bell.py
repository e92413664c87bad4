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

from vez.engines import handles

_TICKET = struct.Struct("<Q")
_WATCHED = 64
"""Processes whose end a thread or loop may watch at once; a descriptor each."""


class Bell:
    """The doorbell of one thread or one event loop."""

    def __init__(self) -> None:
        self.generation = handles.generation
        self.socket = handles.open_socket()
        while True:
            self.number = int.from_bytes(os.urandom(8)) | 1
            with contextlib.suppress(OSError):
                self.socket.bind(_address(self.number))
                break

    def fileno(self) -> int:
        """For poll and event loops."""
        return self.socket.fileno()

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

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class Ringer:
    """The sending side, one for an engine."""

    def __init__(self) -> None:
        self.socket = handles.open_socket()

    def ring(self, number: int, ticket: int) -> None:
        """Wake whoever waits with this ticket. A full or vanished bell does not matter."""
        with contextlib.suppress(OSError):
            self.socket.sendto(_TICKET.pack(ticket), _address(number))

    def close(self) -> None:
        """No more rings."""
        handles.close_socket(self.socket)


class Watch:
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

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class Ear(threading.local):
    """What one thread listens with. Made at its first wait, gone with the thread."""

    def __init__(self) -> None:
        self.bell: Bell | None = None
        self.watch = Watch()
        self.generation = handles.generation

    def open(self) -> Bell:
        """This thread's bell; a forked child gets its own."""
        if self.bell is None or self.generation != handles.generation:
            self.generation = handles.generation
            self.bell, self.watch = Bell(), Watch()
        return self.bell

    def listen(self, processes: list[int], seconds: float) -> set[int]:
        """Sleep until the bell rings, one of the processes ends, or the time is over. Those that ended."""
        bell = self.open()
        poll = select.poll()
        poll.register(bell.fileno(), select.POLLIN)
        watched: dict[int, int] = {}
        for process in processes:
            if (descriptor := self.watch.of(process)) is not None:
                watched[descriptor] = process
                poll.register(descriptor, select.POLLIN)
        ended = set()
        for descriptor, _ in poll.poll(max(0.0, seconds * 1000)):
            if descriptor in watched:
                ended.add(watched[descriptor])
                self.watch.forget(watched[descriptor])
            else:
                bell.heard()
        return ended


def _address(number: int) -> bytes:
    return b"\0vez-%016x" % number
