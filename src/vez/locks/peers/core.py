"""The core of the engine: the part that the engines for threads and for tasks share: requests, stays, inspection."""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING

from vez.errors import EngineUnavailable, LockTimeout, Misuse, VezError
from vez.locks.engines.base import Contestant, Inspection, Kind, Leader, Request
from vez.locks.engines.cycles import Searched, Target
from vez.locks.engines.own_process import OwnProcess
from vez.locks.engines.owners import Claim, leave, leave_all
from vez.locks.engines.wording import FORKED, RELEASED, client_closed, timed_out, warn_unclosed, withdrawn
from vez.locks.peers.background import Background, join, part
from vez.locks.peers.elections import ElectionInstance
from vez.locks.peers.instance import Instance, harmless, shown
from vez.locks.peers.participant import Participant
from vez.locks.peers.seat import Seat
from vez.locks.peers.settings import Settings
from vez.locks.peers.traits import traits_of

if TYPE_CHECKING:
    from vez.locks.engines.owners import Entry

Blocked = list[tuple[Searched, Claim]]
"""The holdings that cannot be released while a request waits."""


class Stay:
    """A request of a thread or a task; once granted, the stay. It has no reference to the waiter."""

    __slots__ = (
        "__weakref__",
        "_core",
        "_loss",
        "_process",
        "_seat",
        "entry",
        "released",
        "request",
        "waits",
        "withdrawn",
    )

    def __init__(self, core: PeersCore, seat: Seat) -> None:
        self._core = core
        self._seat = seat
        self._process = os.getpid()
        self._loss: str | None = None  # reason of the loss, as known at the release
        self.request = seat.request
        self.entry: Entry | None = None
        self.waits: Target | None = None
        self.withdrawn = False
        self.released = False

    @property
    def inside(self) -> bool:
        """True from the grant until the release."""
        return self._seat.state == "inside" and not self.released

    @property
    def token(self) -> int | None:
        """The fencing token or the term; None if the algorithm gives none."""
        return self._seat.token

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self.loss()

    def why_lost(self) -> str | None:
        """Reason why it is no longer held, or None while held. Never blocks."""
        if self._process != os.getpid():
            return FORKED
        return self.loss() or (RELEASED if self.released else None)

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss, and does not change the answer."""
        return self._loss if self.released else self._seat.why_lost()

    def lifeline(self) -> int | None:
        """None: the stay ends with this process."""
        return None

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, on the loop of the participant, when the stay is lost."""
        self._core.background.post(self._seat.on_loss, tell)

    def transfer(self, to: str) -> int:
        """Always refused: no algorithm lets a leader choose the next one."""
        raise self._core.refuse(f"cannot transfer a leadership to {to!r}")

    def release(self) -> None:
        """Withdraw or release, without waiting for the group. Calling it twice is harmless."""
        if not self.released:  # set last: after an interrupt in this block the caller releases again
            self._loss = self._seat.why_lost()
            if self._process == os.getpid():
                self._core.drop(self._seat)
            leave(self.entry)
            self.released = True

    def wake(self) -> None:
        """End the wait with an error: the client was closed, or the request is withdrawn. Any thread may call it."""
        why = withdrawn(self.request) if self.withdrawn else client_closed(self._core.url)
        self._core.fail(self._seat, why)

    def __del__(self) -> None:
        if not getattr(self, "released", True):  # dropped without a release; True if the constructor failed
            self.release()


class PeersCore(OwnProcess):
    """The requests of one client. All clients of a URL share the participant."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.url = settings.url
        self.traits = traits_of(settings)
        self.closed = False
        self._background: Background | None = None
        self._watchers: set[Callable[[str], None]] = set()
        """Observers of this client; the participant has those of all clients."""

    def open(self) -> None:
        """Join the group, unless this program is a member already."""
        if self._background is None:
            self._background = join(self.settings)

    @property
    def background(self) -> Background:
        """The thread of the participant."""
        if self.closed or self._background is None:
            raise client_closed(self.url)
        return self._background

    @property
    def participant(self) -> Participant:
        """The member of the group. Use it only on its loop."""
        return self.background.participant

    def ask(self, seat: Seat) -> None:
        """Begin a request."""
        url = self.url
        self.background.post(self.participant.ask, seat, otherwise=lambda: seat.fail(client_closed(url)))

    def drop(self, seat: Seat) -> None:
        """Withdraw a request, or release a stay."""
        background = self._background
        if background is not None:
            try:
                background.post(background.participant.drop, seat)
            except EngineUnavailable:  # the thread has ended, and all requests with it
                seat.state = "over"

    def fail(self, seat: Seat, error: VezError) -> None:
        """End the wait of a request with this error."""
        background = self._background
        if background is not None:
            background.post(background.participant.end, seat, error)

    def close(self) -> None:
        """Release everything of this client, and leave the group if no other client of this program is a member."""
        if not self.closed:
            self.closed = True
            for tell in tuple(self._watchers):  # they see that the client is closed
                tell("")
            if self._background is not None:
                if not self._background.forked:
                    leave_all(self)
                part(self._background)

    def __del__(self) -> None:
        """Leave the group for a client that was dropped. In a thread, because leaving takes some time."""
        background = getattr(self, "_background", None)  # None if the constructor failed
        if background is not None and not self.closed and not background.forked:
            self.closed = True
            with suppress(RuntimeError):  # the interpreter is ending, and leaves all groups
                start_new_thread(part, (background,))
            warn_unclosed(self.url, self)

    def unwatch(self, tell: Callable[[str], None]) -> None:
        """Undo `watch`. Any thread may call it, also after the client was closed."""
        self._watchers.discard(tell)
        background = self._background
        if background is not None:
            with suppress(EngineUnavailable):  # the thread has ended, and all observers with it
                background.post(background.participant.watchers.discard, tell)

    def check(self, request: Request) -> None:
        """Raise `Misuse` for a request that the algorithm does not support."""
        self.check_kind(request.kind)
        if request.shared:
            raise self._refusal("has no shared locks", "use an exclusive one")
        if request.weight:
            raise self._refusal("does not know weights", "leave weight= out")
        if request.lease_ms is not None:
            raise self._refusal("does not take a lease with each request", "a lease is a parameter in the URL, if any")

    def check_kind(self, kind: Kind) -> None:
        """Raise `Misuse` for a kind that the algorithm does not support."""
        role: Kind = "lock" if self.settings.kind.role == "mutex" else "election"
        if kind != role:
            kinds = {"lock": "locks", "election": "elections", "semaphore": "semaphores"}
            raise self._refusal(f"has no {kinds[kind]}", f"it gives {kinds[role]} only")

    def refuse(self, what: str) -> Misuse:
        """The error for an operation that no algorithm supports."""
        return self._refusal(what, "see the traits of the engine")

    def timed_out(self, request: Request, seconds: float, holder: Contestant | None, missing: list[str]) -> LockTimeout:
        """The error for a request that was not granted in time, with the members that are missing in the group."""
        usual = timed_out(request, seconds, holder)
        words = "; ".join(missing)
        return LockTimeout(
            f"{usual.message}{f': {words}' if words else ''}",
            hint="another member holds it, or does not answer"
            if holder is None
            else "a thread or task of this program",
        )

    # The following methods run on the loop of the participant.

    def settle(self, seat: Seat) -> tuple[Contestant | None, list[str]]:
        """Withdraw a request whose time is over. Returns the holder in this program, or None, and the missing
        members."""
        participant = self.participant
        instance = participant.instances.get(seat.request.name)
        holder = None if instance is None or instance.current is seat else instance.holder()
        participant.drop(seat)
        return holder, participant.missing()

    def inspect(self, name: str, kind: Kind) -> Inspection:
        """The state of a name, as this member knows it."""
        instance = self.participant.instances.get(name)
        holders: tuple[Contestant, ...] = ()
        queue: tuple[Contestant, ...] = ()
        last = 0
        if instance is not None:
            holder = instance.holder() or self._elsewhere(instance)
            holders = () if holder is None else (holder,)
            queue = tuple(map(shown, instance.queue))
            last = instance.last_token
        return Inspection(name, kind, 1, holders, queue, last, lease_seconds=self.traits.lease_seconds)

    def names(self, prefix: str) -> list[str]:
        """The names that this member knows."""
        return sorted(name for name in self.participant.instances if name.startswith(prefix))

    def leader(self, name: str) -> Leader | None:
        """The program that leads, as this member knows it. The name counts as used."""
        self.participant.refuse_if_over()
        instance = self.participant.use(name)
        found = instance.holder() or self._elsewhere(instance)
        if found is None:
            return None
        return Leader(found.token or 0, found.pid, found.host, found.label, found.since)

    def watch(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with each name whose leader changes, and once more when the client is closed."""
        self.participant.watchers.add(tell)
        self._watchers.add(tell)

    def _elsewhere(self, instance: Instance) -> Contestant | None:
        """The program that leads on another member, or None. It counts only if the algorithm has chosen that member."""
        leader = instance.application.leader
        if not isinstance(instance, ElectionInstance) or leader not in instance.offices:
            return None
        label, since = instance.offices[leader]
        known = self.participant.present.get(leader)
        pid, host = (0, "") if known is None else (known.pid, harmless(known.host))
        term = instance.application.term if self.traits.token is not None else None
        return Contestant(term, pid, host, since, label=label)

    def _refusal(self, what: str, hint: str) -> Misuse:
        return Misuse(f"the algorithm {self.settings.algorithm} of this group {what}", hint=hint)

    # For the search for cycles of waits (`cycles.py`).

    @property
    def identity(self) -> Hashable:
        """Identifies the group and this member. Equal for all clients that share the participant."""
        return self.url
