"""Node: makes the parts of one participant, and runs it until it is told to stop or cannot continue."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from typing import Any

from vez.core import trace as events
from vez.core.assumptions import Assumption
from vez.core.message import Message, plain_values
from vez.core.process import DURABLE, PARAMETER, initial_fields, marked
from vez.core.process_ids import unmarked
from vez.core.trace import AnyEvent
from vez.errors import Misuse, ProtocolBug, ReliableNotKept, VezError
from vez.worlds.node.application import Application
from vez.worlds.node.channel import Events
from vez.worlds.node.connection import Self
from vez.worlds.node.control import Control, read_input, serve
from vez.worlds.node.detection import GRACE_MS, Detection
from vez.worlds.node.durable import Durable, Forgetful
from vez.worlds.node.frames import LONGEST_DELAY_US, Codec
from vez.worlds.node.identity import make_identity
from vez.worlds.node.journal import FORMAT, Head, Journal, clock_name, now_us
from vez.worlds.node.link import Letter
from vez.worlds.node.log import Log
from vez.worlds.node.plan import Plan as Plan
from vez.worlds.node.pump import Outside, Pump, Trigger
from vez.worlds.node.resource import Resource
from vez.worlds.node.sockets import refuse_without_unix_sockets
from vez.worlds.node.transport import Transport

SHOWN = frozenset((
    events.Started, events.Recovered, events.Withdrew, events.Entered, events.Left, events.Wrote, events.Elected,
    events.Suspected, events.Trusted, events.Noted,
))  # fmt: skip
"""Events that are printed as they happen."""


class Node(Outside):
    """One participant. `say` is called with the events and answers for the user of the node."""

    def __init__(self, plan: Plan, say: Callable[[Any], None]) -> None:
        self._plan = plan
        self._say = say
        self._me = plan.me
        self._over = asyncio.Event()
        self._error: VezError | None = None
        self._held: list[Callable[[], None]] | None = []  # callbacks that came before the start
        self._process = plan.fresh()
        self._kind = type(self._process)
        self._incarnation = os.urandom(8).hex()
        self._durable = Forgetful() if plan.state is None else Durable(plan.state, plan.me, plan.algorithm, self._kind)
        self._recovers = self._durable.found is not None
        if plan.memory:
            for name, value in (self._durable.found or {}).items():
                setattr(self._process, name, value)
        self._durable.begin(self._process)
        self._application = Application(plan.me, self._kind)
        self._identity = make_identity(
            plan.group.name, plan.algorithm, plan.topology, self._process, time_scale=plan.time_scale
        )
        self._journal = self._open_journal()
        self._log = Log(plan.me)
        self._pump = Pump(
            self._process,
            plan.topology,
            plan.me,
            self,
            application=self._application,
            durable=self._durable,
            journal=self._journal,
            time_scale=plan.time_scale,
            conditions=plan.conditions,
        )
        self._transport = self._make_transport()
        self._detection: Detection | None = None
        self._suspected: set[int] = set()
        self._resource = None if plan.resource is None else Resource(plan.resource)
        self._stay: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Run until `stop`. Raises the error that ended the node otherwise."""
        plan = self._plan
        detects = plan.detector != "none" and hasattr(self._kind, "on_suspect")
        peers = plan.topology.peers(self._me)
        control = None
        try:
            if plan.control is not None:
                control = await serve(self, plan.control)
            await self._transport.start(peers if detects else plan.topology.neighbours(self._me))
            read_input(self, self._say)
            self._say({"event": "ready", "node": self._me, "incarnation": self._incarnation, "pid": os.getpid()})
            if not plan.hold:
                self.start()
            if detects:
                self._detection = Detection(
                    plan.detector,
                    plan.detector_settings,
                    peers,
                    beat=self._beat,
                    tell=lambda peer, dead: self._when_started(lambda: self._suspect(peer, dead)),
                    grace_ms=0.0 if self._recovers else GRACE_MS,
                )
            await self._over.wait()
        finally:
            await self._close(control)
        if self._error is not None:
            raise self._error

    async def _close(self, control: Control | None) -> None:
        self.stop()
        if self._detection is not None:
            self._detection.stop()
        if control is not None:
            control.close()
        await self._transport.stop()
        self._durable.close()
        if self._resource is not None:
            self._resource.close()
        if self._journal is not None:
            if self._error is None or isinstance(self._error, ProtocolBug):
                self._journal.end(now_us(), self._me, raised=self._error is not None)
            self._journal.close()

    # Commands.

    def start(self) -> None:
        """Start the algorithm: `on_start`, or `on_recover` after an earlier life."""
        if self._held is None:
            raise Misuse(f"node {self._me} has begun already")
        held, self._held = self._held, None
        self._pump.step(self._beginning(), self._kind.on_recover if self._recovers else self._kind.on_start)
        for action in held:
            action()

    def want(self, inside_ms: float | None, linger_ms: float = 0.0) -> None:
        """Let the application want in, for `inside_ms` or until `leave`.

        If it enters after it withdrew, it takes `linger_ms` to leave.
        """
        self._must_have_begun()
        self._application.want(inside_ms, linger_ms)
        self._pump.step((events.Wanted, ()), self._kind.on_want)  # type: ignore[attr-defined]

    def leave(self) -> None:
        """Let the application leave."""
        token = self._application.token
        self._application.leave()
        self._write(token)
        if self._stay is not None:
            self._stay.cancel()
        self._pump.step((events.Left, ()), self._kind.on_done)  # type: ignore[attr-defined]

    def withdraw(self) -> None:
        """Let the application stop waiting."""
        retracted = self._application.withdraw()
        self._pump.step((events.Withdrew, (retracted,)), self._kind.on_withdraw)  # type: ignore[attr-defined]

    def elect(self) -> None:
        """Let the application ask for an election."""
        self._must_have_begun()
        self._application.elect()
        self._pump.step((events.Asked, ()), self._kind.on_elect)  # type: ignore[attr-defined]

    def status(self) -> dict[str, Any]:
        """The state, as values for JSON."""
        application = self._application
        return {
            "node": self._me,
            "incarnation": self._incarnation,
            "begun": self._held is None,
            "role": self._kind.role,
            "state": application.state,
            "entries": application.entries,
            "leader": application.leader,
            "term": application.term,
            "words": unmarked(self._pump.process.status())[0],
            "sent": sum(self._pump.sent.values()),
            "by_kind": dict(self._pump.sent),
            "received": self._pump.received,
            "linked": self._transport.linked,
            "suspected": sorted(self._suspected),
            "steps": self._pump.steps,
            "ends": self._pump.is_over,
            "timers": self._pump.timers,
            "arrived": self._pump.own + self._transport.late,
            "unacknowledged": {str(peer): count for peer, count in self._transport.unacknowledged.items()},
            "sources": {str(peer): incarnation for peer, incarnation in self._transport.sources.items()},
            "watched": [] if self._detection is None else sorted(self._detection.peers),
            "doubted": [] if self._detection is None else sorted(self._detection.suspected),
        }

    def crash(self, actions: int | None = None) -> None:
        """Stop as if killed: nothing is closed, and no peer is told. With `actions`, crash inside a handler, after that
        many of its actions.

        A node that has not begun is recorded as started: it dies before it can do anything.
        """
        if actions is not None:
            self._pump.arm(actions)
            return
        if self._held is not None:
            kind, details = self._beginning()
            self._pump.record(kind(now_us(), self._me, *details))
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    def cut(self, peer: int) -> None:
        """Carry no messages to a peer."""
        self._transport.channel(self._known(peer)).cut()

    def heal(self, peer: int) -> None:
        """Carry messages to a peer again."""
        self._transport.channel(self._known(peer)).heal()

    def slow(self, peer: int, delay_ms: float) -> None:
        """Send everything to a peer later."""
        if (delay_us := round(delay_ms * 1000)) > LONGEST_DELAY_US:
            raise Misuse(f"{delay_ms:g} ms are too many", hint=f"at most {LONGEST_DELAY_US // 1000}, a day")
        self._transport.channel(self._known(peer)).slow_us = delay_us

    def suspect(self, peer: int) -> None:
        """Tell the process that a peer is dead, whether it is or not."""
        self._told_of(peer, dead=True)

    def trust(self, peer: int) -> None:
        """Tell the process that a peer is alive."""
        self._told_of(peer, dead=False)

    def stop(self) -> None:
        """End in order."""
        self._pump.stop()
        self._transport.shut()
        self._over.set()

    # Callbacks of the pump.

    def send(self, to: int, letter: Letter) -> None:
        self._transport.send(to, letter)

    def entered(self) -> None:
        application = self._application
        self._write(application.token)
        if application.withdrawn or application.inside_ms is not None:
            wait_ms = application.linger_ms if application.withdrawn else application.inside_ms or 0.0
            self._stay = asyncio.get_running_loop().call_later(wait_ms / 1000, self.leave)

    def tell(self, event: AnyEvent) -> None:
        if type(event) in SHOWN:
            self._say(event)

    def failed(self, error: VezError) -> None:
        self._error = error
        self.stop()

    # Private methods.

    def _make_transport(self) -> Transport:
        plan = self._plan
        own = Self(
            self._identity,
            self._me,
            self._incarnation,
            plan.group.key,
            plan.limits,
            Codec(self._kind, plan.limits.depth),
            self._log,
        )
        told = Events(
            message=self._arrived,
            heard=lambda peer: self._detection.heard(peer) if self._detection is not None else None,
            lost=self._pump.lost,
            linked=lambda peer, up: self._say(
                {"event": "linked" if up else "unlinked", "node": self._me, "peer": peer}
            ),
        )
        reliable = Assumption.RELIABLE in self._kind.assumes
        fifo = plan.conditions is None or plan.conditions.fifo
        return Transport(own, plan.group, reliable=reliable, fifo=fifo, events=told)

    def _open_journal(self) -> Journal | None:
        plan = self._plan
        if plan.journal is None:
            return None
        head = Head(
            vez_journal=FORMAT,
            node=self._me,
            incarnation=self._incarnation,
            algorithm=plan.algorithm,
            group=plan.group.name,
            ids=plan.topology.ids,
            topology=plan.topology.name,
            edges=self._identity.edges,
            assumes=tuple(map(str, self._kind.assumes)),
            time_scale=plan.time_scale,
            clock=clock_name(),
            altered=() if plan.conditions is None else plan.conditions.alters,
            initial=initial_fields(plan.fresh()),
        )
        return Journal(plan.journal / f"{self._me}-{self._incarnation}.jsonl", head)

    def _arrived(self, sender: int, number: int, incarnation: str, message: Message, _name: str) -> None:
        if self._held is None:
            self._pump.deliver(sender, number, incarnation, message)
        else:
            self._when_started(lambda: self._pump.deliver(sender, number, incarnation, message))

    def _when_started(self, action: Callable[[], None]) -> None:
        if self._held is None:
            action()
        elif len(self._held) < self._plan.limits.kept_messages:
            self._held.append(action)
        else:
            self.failed(ReliableNotKept("too much happened before the node was told to start"))

    def _write(self, token: int | None) -> None:
        """Write to the resource, if there is one and the stay has a token."""
        if self._resource is not None and token is not None:
            at, accepted = self._resource.write(token)
            self._pump.record(events.Wrote(at, self._me, token, accepted))

    def _beat(self, peer: int) -> None:
        after_us = 0 if self._plan.conditions is None else self._plan.conditions.beat(peer)
        if after_us is not None:
            self._transport.beat(peer, after_us)

    def _told_of(self, peer: int, *, dead: bool) -> None:
        self._must_have_begun()
        if not hasattr(self._kind, "on_suspect"):
            raise Misuse(f"{self._kind.__name__} does not use a failure detector: it has no on_suspect")
        self._suspect(self._known(peer), dead)

    def _beginning(self) -> Trigger:
        """The event with which this life begins."""
        values = {name: getattr(self._process, name) for name in self._process.__struct_fields__}
        if self._recovers:
            durable = plain_values({name: values[name] for name in marked(self._kind, DURABLE)})
            return events.Recovered, (self._plan.memory, durable if self._plan.memory else {})
        parameters = {name: values.pop(name) for name in marked(self._kind, PARAMETER)}
        return events.Started, (plain_values(parameters), plain_values(values))

    def _suspect(self, peer: int, dead: bool) -> None:
        if dead == (peer in self._suspected):  # no change: it died again before it was trusted, or was not suspected
            return
        (self._suspected.add if dead else self._suspected.discard)(peer)
        handler = getattr(self._kind, "on_suspect" if dead else "on_trust", None)
        if handler is not None:
            self._pump.step((events.Suspected if dead else events.Trusted, (peer,)), handler, peer)

    def _must_have_begun(self) -> None:
        if self._held is not None:
            raise Misuse(f"node {self._me} has not begun", hint="start")

    def _known(self, peer: int) -> int:
        if peer == self._me or not self._plan.topology.has_process(peer):
            raise Misuse(
                f"there is no other node {peer}", hint=f"nodes: {', '.join(map(str, self._plan.topology.ids))}"
            )
        return peer


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop of uvloop if it is installed; None for the standard one."""
    with contextlib.suppress(ImportError):
        import uvloop

        factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
        return factory
    return None


def run_node(plan: Plan, say: Callable[[Any], None]) -> None:
    """Run a node until it is told to stop."""

    async def main() -> None:
        node = Node(plan, say)
        with contextlib.suppress(NotImplementedError, AttributeError):  # not every system has signals for it
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, node.stop)
        await node.run()

    refuse_without_unix_sockets(plan.group)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())
