"""Bells: how a waiter is woken. A ring is a hint and may be lost; the byte locks decide.

A bell is a datagram socket in the kernel's abstract namespace: it leaves no file behind, and vanishes with its process.
Everybody on the machine can see its address. So a ring carries a secret. The secret is in the slot of the waiter, which
only processes with access to the directory can read. The kernel drops all other datagrams at once, so that nobody else
can wake us or fill the queue.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import struct
import threading
from _socket import SOL_SOCKET
from collections import OrderedDict
from collections.abc import Sequence

from vez.errors import EngineUnavailable
from vez.locks.engines import handles

_RING = struct.Struct("<8sQ")  # the number of the bell, whose second half is secret, and a ticket
_ADDRESS = b"\0vez-"
_PUBLIC = 4
"""Number of leading bytes of a bell's number that are its address."""
_MOST_AT_ONCE = 64
"""Largest number of rings that are read before other callbacks of the event loop run."""
_ATTACH_FILTER = 26  # SO_ATTACH_FILTER of socket(7)
POLL_MS = 5
"""Milliseconds for which a thread sleeps on its bell alone, which is the cheapest way to sleep, before it also watches
for the end of processes. So the end of a process is noticed at most this much later."""
QUEUE_LENGTH = 10
"""Rings that the kernel keeps for a bell (net.unix.max_dgram_qlen); further ones are lost."""
_WATCHED = 64
"""Largest number of processes whose end a thread or event loop watches at once. Each needs a descriptor, so the number
is lower if the limit of open files is low."""

HOLDER_NET = 0.5
"""Fallback poll interval, in seconds, at which holders that are told of a loss check whether they have lost their
holdings. It is shorter than the grace of tasks, because a holder in another network namespace is not rung, and must
know of the loss before another request is granted."""

_NOBODY: frozenset[int] = frozenset()


def _most_watched() -> int:
    return min(_WATCHED, handles.allowed() // 16)


class _Closing:
    """Closes itself when it is collected."""

    def close(self) -> None:
        """Close what is open."""
        raise NotImplementedError

    def __del__(self) -> None:
        try:  # noqa: SIM105  at exit `contextlib` may be gone
            self.close()
        except Exception:  # noqa: S110
            pass


class Bell(_Closing):
    """The doorbell of one thread or one event loop."""

    def __init__(self) -> None:
        self.generation = handles.generation
        try:
            self.socket = handles.open_socket()
            self.number = _bound(self.socket)
        except OSError as error:
            raise no_bell(error) from error
        self.poller = select.poll()
        self.poller.register(self.socket, select.POLLIN)
        # True if a ring was noticed and is still in the socket. It is read before the next sleep, not while a waiter
        # waits for our turn to end.
        self.pending = False

    def fileno(self) -> int:
        """The descriptor, for poll and event loops."""
        return self.socket.fileno()

    def take(self) -> None:
        """Read the oldest ring. If there is another, the next sleep ends at once."""
        self.pending = False
        with contextlib.suppress(OSError):
            self.socket.recv(_RING.size)

    def heard(self) -> list[int]:
        """Read all rings. Returns the tickets for which they were meant."""
        tickets = []
        with contextlib.suppress(OSError):
            for _ in range(_MOST_AT_ONCE):
                raw = self.socket.recv(_RING.size)
                if len(raw) == _RING.size:
                    tickets.append(_RING.unpack(raw)[1])
        return tickets

    def close(self) -> None:
        """Close the socket."""
        if self.generation == handles.generation:
            handles.close_socket(self.socket)


def no_bell(error: OSError) -> EngineUnavailable:
    """The error for a thread or a loop that cannot open a bell."""
    return EngineUnavailable(f"cannot wait for a turn: {error.strerror}", hint=handles.hint_for(error))


def _bound(bell: handles.Socket) -> bytes:
    """Bind a bell to the public half of a new number. Returns the number."""
    while True:
        number = os.urandom(8)
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            _admit(bell, number[_PUBLIC:])
        try:
            bell.bind(_ADDRESS + number[:_PUBLIC])
            return number
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def _admit(bell: handles.Socket, secret: bytes) -> None:
    """Let the kernel drop all datagrams without the secret behind the public half: a filter of four instructions."""
    value = int.from_bytes(secret, "big")
    steps = (
        (0x20, 0, 0, _PUBLIC),
        (0x15, 0, 1, value),
        (0x06, 0, 0, 0xFFFF),
        (0x06, 0, 0, 0),
    )  # load, compare, keep, drop
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    bell.setsockopt(SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", len(steps), ctypes.addressof(program)))


class Ringer:
    """The sending side. There is one for each process, so a release after the client was closed still rings."""

    def __init__(self) -> None:
        self.generation = handles.generation
        try:
            self.socket = handles.open_socket()
        except OSError as error:
            raise EngineUnavailable(
                f"cannot open a socket to wake waiters: {error.strerror}", hint=handles.hint_for(error)
            ) from error

    def ring(self, number: bytes, ticket: int) -> None:
        """Ring the bell with this number for a ticket. A bell that is full or gone is ignored: rings are hints."""
        try:
            self.socket.sendto(_RING.pack(number, ticket), _ADDRESS + number[:_PUBLIC])
        except OSError:
            return


_ringer: Ringer | None = None


def the_ringer() -> Ringer:
    """The ringer of this process; a forked child gets its own."""
    global _ringer
    with handles.gate:
        if _ringer is None or _ringer.generation != handles.generation:
            _ringer = Ringer()
        return _ringer


class Watch(_Closing):
    """Descriptors (pidfd) that report the end of other processes, for an event loop."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self.generation = handles.generation

    def of(self, process: int) -> int | None:
        """A descriptor that becomes readable when the process ends. None if it cannot be opened: the process is in
        another namespace or has ended already, or too many descriptors are open. No open descriptor is closed to make
        room, because the loop watches them all, and the next file of the program may get the number of a closed one."""
        known = self._known.get(process)
        if known is not None:
            return known
        if len(self._known) >= _most_watched():
            return None
        try:
            made = handles.open_pidfd(process)
        except OSError:
            return None
        self._known[process] = made
        return made

    def forget(self, process: int) -> None:
        """Close the descriptor of a process that has ended, or whose number belongs to another process by now."""
        if (known := self._known.pop(process, None)) is not None:
            handles.close_handle(known)

    def close(self) -> None:
        """Close all descriptors."""
        while self._known and self.generation == handles.generation:
            handles.close_handle(self._known.popitem()[1])


class Ear(threading.local):
    """The descriptors on which one thread sleeps: its bell, and one for the end of each process that it has waited for
    recently. They are opened at the first wait and closed with the thread. The end of any of these processes may end a
    sleep: a needless check is harmless."""

    def __init__(self) -> None:
        self.generation = -1

    def open(self) -> Bell:
        """This thread's bell; a forked child gets its own."""
        if self.generation != handles.generation:
            bell = Bell()
            try:
                sleep = _Sleep()
            except OSError as error:
                raise no_bell(error) from error
            sleep.epoll.register(bell.fileno(), select.EPOLLIN)
            self.bell, self._number, self._sleep = bell, bell.fileno(), sleep
            self.generation = handles.generation  # last: an interrupt may have come before
        return self.bell

    def listen(self, processes: Sequence[int], seconds: float) -> frozenset[int]:
        """Sleep until the bell rings, one of the processes ends, or the time is over. Returns the processes that ended
        or cannot be watched."""
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
        except OSError:  # it has ended already, or the limit of open files is reached
            return False
        self._sleep.known[process] = descriptor
        self._sleep.epoll.register(descriptor, select.EPOLLIN)
        if len(self._sleep.known) > _most_watched():
            self._forget(next(iter(self._sleep.known)))
        return True

    def _forget(self, process: int) -> None:
        descriptor = self._sleep.known.pop(process)
        self._sleep.epoll.unregister(descriptor)
        handles.close_handle(descriptor)


class _Sleep:
    """An epoll object that is closed with its thread, and the descriptors registered in it."""

    def __init__(self) -> None:
        self.epoll = handles.open_epoll()
        self.known: OrderedDict[int, int] = OrderedDict()  # process -> the descriptor that reports its end
        self.generation = handles.generation

    def __del__(self) -> None:
        try:
            if self.generation == handles.generation:
                handles.close_epoll(self.epoll)
                while self.known:
                    handles.close_handle(self.known.popitem()[1])
        except Exception:  # noqa: S110
            pass
