"""Participant: this program as a member of its group: one set of links, one failure detector, one instance per name.

All methods run on one event loop (`background.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable

import msgspec

from vez.core.assumptions import Assumption
from vez.core.message import Message
from vez.core.process import DURABLE, Mutex, marked, name_of
from vez.errors import EngineUnavailable, Misuse, PeerViolation, VezError
from vez.locks.engines.machine import host_name
from vez.locks.engines.names import check_name
from vez.locks.engines.wording import client_closed
from vez.locks.peers.elections import ElectionInstance
from vez.locks.peers.instance import Instance
from vez.locks.peers.locks import LockInstance
from vez.locks.peers.seat import Seat
from vez.locks.peers.settings import Settings, started_anew
from vez.worlds.node.channel import Events
from vez.worlds.node.connection import Self
from vez.worlds.node.detection import Detection
from vez.worlds.node.durable import Durable, Forgetful
from vez.worlds.node.frames import MOST_NAMES, Codec, Leaving, Office, Present, Saying, Standing
from vez.worlds.node.identity import Identity, make_identity
from vez.worlds.node.limits import Limits
from vez.worlds.node.link import Letter
from vez.worlds.node.log import Log
from vez.worlds.node.sockets import private_directory, refuse_without_unix_sockets
from vez.worlds.node.transport import Transport

GOODBYE_S = 2.0
"""Seconds in which the other members must acknowledge the messages that this member sent before it left."""


class Participant:
    """One member of a group."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.instances: dict[str, Instance] = {}
        self.gathered = False
        """True when requests of this program may begin: all members are connected, or the time to wait for them is
        over."""
        self.suspected: set[int] = set()
        self.failure: VezError | None = None
        self.present: dict[int, Present] = {}
        """Host and process of each member that has reported them."""
        self.refusals: dict[int, str] = {}
        """Reasons why there is no channel to a member, as far as known."""
        self.watchers: set[Callable[[str], None]] = set()
        """Observers. Each is called with a name whose leader has changed."""
        self._log = log
        self._limits = Limits()
        self._own_names: set[str] = set()
        self._linked: set[int] = set()  # members to which messages can be sent now
        self._heard: set[int] = set()  # members from which a message has arrived
        self._once_linked: set[int] = set()
        self._is_over = False
        self._detection: Detection | None = None
        self._join: asyncio.TimerHandle | None = None
        self._transport = self._make_transport()

    async def start(self) -> None:
        """Listen, and connect to the other members. Raises `EngineUnavailable` if the address cannot be used."""
        settings = self.settings
        refuse_without_unix_sockets(settings.group)
        if settings.state is not None:
            private_directory(settings.state)
        await self._transport.start(settings.peers)
        if settings.detects:
            self._detection = Detection(
                settings.detector,
                settings.detector_settings,
                settings.peers,
                beat=lambda peer: self._transport.beat(peer, 0),
                tell=self._suspect,
                grace_ms=settings.join_s * 1000,
            )
        if not settings.needs_all:
            self._join = asyncio.get_running_loop().call_later(settings.join_s, self._gather)

    async def leave(self) -> None:
        """Withdraw every request, release every stay, say goodbye and end."""
        if not self._is_over:
            closed = client_closed(self.settings.url)
            for instance in self.instances.values():
                for seat in (*instance.queue, instance.current):
                    if seat is not None:
                        self.end(seat, closed)
            await self._flush()
            for peer in self.settings.peers:
                self._transport.channel(peer).say(Leaving())
            await asyncio.sleep(0)
        self._stop()
        await self._transport.stop()

    def close_sockets(self) -> None:
        """Close the copies of the sockets in a forked child. Nothing else of the parent may be touched."""
        self._transport.close_copies()

    # Requests of this program.

    def ask(self, seat: Seat) -> None:
        """Begin a request."""
        try:
            self.refuse_if_over()
            if (refusal := self._refusal()) is not None:
                raise refusal
            instance = self.use(seat.request.name)
        except VezError as error:
            seat.fail(error)
        else:
            instance.ask(seat)

    def drop(self, seat: Seat) -> None:
        """Withdraw a request, or end a stay."""
        instance = self.instances.get(seat.request.name)
        if instance is not None and not self._is_over:
            instance.drop(seat)

    def end(self, seat: Seat, error: VezError) -> None:
        """End a waiting request with an error, or release a stay."""
        waits = seat.state in ("new", "queued")
        self.drop(seat)
        if waits:
            seat.fail(error)

    def use(self, name: str) -> Instance:
        """The instance of a name that this program uses. All members create one."""
        if name not in self._own_names:
            if len(self._own_names) >= self.settings.names:
                raise Misuse(
                    f"this member uses {self.settings.names} names already, the limit, and {name!r} would be one more",
                    hint="names of a group are never forgotten; use fewer, or names=NUMBER in the URL of all members",
                )
            self._own_names.add(name)
            present = self._present((name,))
            for peer in sorted(self._linked):
                self._transport.channel(peer).say(present)
        return self._instance(name)

    def refuse_if_over(self) -> None:
        """Raise if this member cannot continue."""
        if self.failure is not None:
            raise EngineUnavailable(
                f"this member of the group has failed: {self.failure.message}", hint=self.failure.hint
            ) from self.failure

    def missing(self) -> list[str]:
        """The members that are not connected, as texts."""
        gone = sorted(set(self.settings.peers) - self._linked)
        joined = [peer for peer in gone if peer in self._once_linked]
        never = [peer for peer in gone if peer not in self._once_linked]
        words = [f"member {peer} is gone" for peer in joined]
        words += [f"member {peer} has not joined" for peer in never if peer not in self.refusals]
        return words + [f"member {peer}: {self.refusals[peer]}" for peer in sorted(self.refusals)]

    # Called by instances.

    def send(self, to: int, letter: Letter) -> None:
        if not self._is_over:
            self._transport.send(to, letter)

    def say(self, to: int, what: Saying) -> None:
        if to in self._linked:
            self._transport.channel(to).say(what)

    def changed(self, name: str) -> None:
        for tell in tuple(self.watchers):
            tell(name)

    def crowd(self) -> int:
        return len(self.instances)

    def failed(self, error: VezError) -> None:
        if self.failure is None:
            self.failure = error
            self._log.line(f"cannot go on: {error}")
            wrapped = EngineUnavailable(f"this member of the group has failed: {error.message}", hint=error.hint)
            for instance in self.instances.values():
                instance.fail(wrapped)
            self._stop()

    # Called by the transport.

    def _arrived(self, sender: int, number: int, incarnation: str, message: Message, name: str) -> None:
        self._instance_for(name).deliver(sender, number, incarnation, message)

    def _said(self, peer: int, what: Saying) -> None:
        match what:
            case Present(names=names):
                self.present[peer] = what
                for name in names:
                    self._instance_for(name)
            case Standing(name):
                instance = self._instance_for(name)
                if isinstance(instance, ElectionInstance):
                    instance.stands(peer)
            case Office(name):
                instance = self._instance_for(name)
                if isinstance(instance, ElectionInstance):
                    instance.told(peer, what)
            case Leaving() if self._detection is not None:
                self._detection.left(peer)

    def _heard_of(self, peer: int) -> None:
        if self._detection is not None:
            self._detection.heard(peer)
        if peer not in self._heard:
            self._heard.add(peer)
            self._met()

    def _link(self, peer: int, up: bool) -> None:
        if not up:
            self._linked.discard(peer)
            if self.settings.needs_all and not self._is_over:
                self._log.line(
                    f"member {peer} is gone; {self.settings.algorithm} assumes that "
                    f"{Assumption.NO_CRASHES.meaning}, so requests may wait until all members are started anew"
                )
            return
        self._linked.add(peer)
        self._once_linked.add(peer)
        self.refusals.pop(peer, None)
        names = sorted(self._own_names)
        for first in range(0, max(1, len(names)), MOST_NAMES):
            self._transport.channel(peer).say(self._present(tuple(names[first : first + MOST_NAMES])))
        for instance in self.instances.values():
            if isinstance(instance, ElectionInstance):
                instance.linked(peer)
        self._met()

    def _refused(self, peer: int, reason: str) -> None:
        self.refusals[peer] = reason
        if (error := self._refusal()) is not None:
            for instance in self.instances.values():
                for seat in tuple(instance.queue):
                    self.end(seat, error)

    def _suspect(self, peer: int, dead: bool) -> None:
        (self.suspected.add if dead else self.suspected.discard)(peer)
        for instance in tuple(self.instances.values()):
            instance.suspect(peer, dead=dead)

    # Inside.

    def _met(self) -> None:
        if not self.gathered and set(self.settings.peers) <= self._linked & self._heard:
            self._gather()

    def _gather(self) -> None:
        if not self.gathered and not self._is_over:
            self.gathered = True
            for instance in tuple(self.instances.values()):
                instance.advance()

    def _refusal(self) -> EngineUnavailable | None:
        """The error for requests that cannot be granted because other members refuse this one, or None.

        One refusal is enough in three cases: the algorithm needs every member; no other member is connected; or this
        member has returned although the algorithm does not allow it, and would elect itself.
        """
        for peer, reason in sorted(self.refusals.items()):
            if self.settings.needs_all or not self._linked or started_anew(self.settings.me) in reason:
                return EngineUnavailable(
                    f"there is no channel to member {peer} at {self.settings.group.addresses[peer]}: {reason}",
                    hint="start all members alike",
                )
        return None

    def _instance_for(self, name: str) -> Instance:
        """The instance of a name that another member has sent. Raises `PeerViolation`."""
        if name in self.instances:
            return self.instances[name]
        try:
            check_name(name)
        except Misuse as error:
            raise PeerViolation(error.message) from None
        most = self.settings.names * len(self.settings.group.ids)
        if len(self.instances) >= most:
            raise PeerViolation(f"it names a lock or an election beyond the {most} that a group of this size can use")
        return self._instance(name)

    def _instance(self, name: str) -> Instance:
        found = self.instances.get(name)
        if found is None:
            make = LockInstance if issubclass(self.settings.kind, Mutex) else ElectionInstance
            found = self.instances[name] = make(name, self, self._storage(name))
            found.begin()
        return found

    def _storage(self, name: str) -> Forgetful:
        settings = self.settings
        if settings.state is None or not marked(settings.kind, DURABLE):
            return Forgetful()
        folder = settings.state / hashlib.sha256(name.encode()).hexdigest()[:32]
        private_directory(folder)
        return Durable(folder, settings.me, settings.algorithm, settings.kind)

    def _present(self, names: tuple[str, ...]) -> Present:
        return Present(os.getpid(), host_name()[:64], names)

    def _make_transport(self) -> Transport:
        settings = self.settings
        own = Self(
            self._identity(),
            settings.me,
            os.urandom(8).hex(),
            settings.group.key,
            self._limits,
            Codec(settings.kind, self._limits.depth),
            self._log,
            names=True,
            no_return=settings.no_return,
        )
        told = Events(
            message=self._arrived,
            heard=self._heard_of,
            lost=lambda _losses: None,
            linked=self._link,
            said=self._said,
            refused=self._refused,
        )
        reliable = Assumption.RELIABLE in settings.kind.assumes
        return Transport(own, settings.group, reliable=reliable, fifo=True, events=told)

    def _identity(self) -> Identity:
        """The values on which all members must agree: those of a node, and the way in which programs use it."""
        settings = self.settings
        identity = make_identity(
            settings.group.name,
            name_of(settings.kind),
            settings.setup.topology,
            settings.setup.process(settings.me),
            time_scale=settings.time_scale,
        )
        engine = {"peers: names": str(settings.names)}
        if marked(settings.kind, DURABLE):
            engine["peers: durable fields"] = "forgotten" if settings.state is None else "kept"
        return msgspec.structs.replace(identity, parameters=identity.parameters | engine)

    async def _flush(self) -> None:
        """Wait until the other members have acknowledged everything that was sent so far, for a short time at most."""
        loop = asyncio.get_running_loop()
        end, marks = loop.time() + GOODBYE_S, self._transport.marks()
        while not self._transport.confirmed(marks) and loop.time() < end:
            await asyncio.sleep(self._limits.acknowledge_s)

    def _stop(self) -> None:
        self._is_over = True
        if self._join is not None:
            self._join.cancel()
        if self._detection is not None:
            self._detection.stop()
        for instance in self.instances.values():
            instance.stop()
        self._transport.shut()
