"""Pump: calls the handlers of one process for real events, and performs their effects.

One step: run the handler on a `Recorder`; store durable fields and sync; write the events to the journal; only then
send messages. So no message shows a state that a crash could undo, and no message is received before its sending is
recorded.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Any

import msgspec

from vez.core import trace as events
from vez.core.drawn_view import View
from vez.core.effects import CancelTimer, Choose, Effect, Elect, Enter, Note, Send, SetTimer, check_text
from vez.core.message import Message, fields_of, plain_values
from vez.core.process import DURABLE, Process, handlers_of, marked
from vez.core.process_ids import unmarked
from vez.core.recorder import ActionRecorder, Point, Recorder, Site
from vez.core.topology import Topology
from vez.core.trace import AnyEvent
from vez.errors import HandlerFailed, ProtocolBug, ReliableNotKept, VezError
from vez.worlds.node.application import Application
from vez.worlds.node.conditions import Conditions, Fate
from vez.worlds.node.durable import Forgetful
from vez.worlds.node.frames import encode_body
from vez.worlds.node.journal import Journal, Received, now_us
from vez.worlds.node.link import Letter, Loss
from vez.worlds.node.timers import Timers

Trigger = tuple[Callable[..., AnyEvent], tuple[Any, ...]]
NO_VIEW = View()
LAST_WORDS_S = 0.05
"""Time between the last message of a process that crashes inside a handler and its end, because event loops write
later."""


class Outside:
    """The interface of a pump to the rest of the node."""

    def send(self, to: int, letter: Letter) -> None:
        """Send a message to a peer. Raises `ReliableNotKept`."""
        raise NotImplementedError  # pragma: no cover - the node overrides it

    def entered(self) -> None:
        """Called when the process is inside."""
        raise NotImplementedError  # pragma: no cover

    def tell(self, event: AnyEvent) -> None:
        """Called with an event that the user of the node may want to see."""
        raise NotImplementedError  # pragma: no cover

    def failed(self, error: VezError) -> None:
        """Called when the process cannot continue."""
        raise NotImplementedError  # pragma: no cover

    def crash(self) -> None:
        """Called when the process dies."""
        raise NotImplementedError  # pragma: no cover


class Pump:
    """One process, and its steps."""

    def __init__(
        self,
        process: Process,
        topology: Topology,
        me: int,
        outside: Outside,
        *,
        application: Application,
        durable: Forgetful,
        journal: Journal | None,
        time_scale: float,
        conditions: Conditions | None = None,
        name: str = "",
    ) -> None:
        """`name` distinguishes this instance of the algorithm from others that share the links."""
        self.process = process
        self.sent: Counter[str] = Counter()
        """Number of messages by kind, without those of the process to itself."""
        self.received = 0
        self.steps = 0
        """Number of handlers that were called."""
        self.own = 0
        """Number of messages of the process to itself that are under way."""
        self._kind = type(process)
        self._me = me
        self._site = Site(self._kind, topology, me)
        self._handlers = handlers_of(self._kind)
        self._outside = outside
        self._application = application
        self._durable = durable
        self._durable_names = marked(self._kind, DURABLE)
        self._stored = {name: getattr(process, name) for name in self._durable_names}
        self._journal = journal
        self._conditions = conditions
        self._timers = Timers(time_scale * (conditions.drift if conditions is not None else 1.0), self._fire)
        self._pick = SystemRandom().randrange if conditions is None else self._picked
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._name = name
        self._own_us = 0  # time at which the last message of the process to itself is due
        self._status, self._view = "", NO_VIEW
        self._is_over = False
        self._armed: int | None = None
        self._unrecorded: AnyEvent | None = None  # the event of the running handler, until it is in the journal

    def step(self, trigger: Trigger | None, handler: Callable[..., None], *arguments: Any) -> None:
        """Run one handler. An error of the algorithm ends the node, and no effect of the step is performed."""
        if self._is_over:
            return
        self.steps += 1
        try:
            self._step(trigger, handler, arguments)
        except ProtocolBug as error:
            self._raised(error)
        except VezError as error:
            self._end(error)
        except (Exception, SystemExit) as error:
            self._raised(self._blamed(handler, error))

    def deliver(self, sender: int, number: int, incarnation: str, message: Message) -> None:
        """Deliver a message that arrived."""
        self.received += 1
        trigger = None if self._journal is None else (Received, (sender, number, incarnation))
        self.step(trigger, self._handlers.message(type(message)), message, sender)

    @property
    def timers(self) -> list[str]:
        """The names of the running timers."""
        return self._timers.running

    @property
    def is_over(self) -> bool:
        """True if no handler will be called again: the node stops, or dies in a moment."""
        return self._is_over

    def lost(self, losses: list[Loss]) -> None:
        """Record messages that will not arrive."""
        at = now_us()
        self._record([events.Lost(at, self._me, number, reason) for number, reason in losses])

    def arm(self, actions: int) -> None:
        """Crash inside the next handler that has more than `actions` actions, after that many of them."""
        self._armed = actions

    def record(self, event: AnyEvent) -> None:
        """Record an event of the process that has no handler."""
        self._record([event])

    def stop(self) -> None:
        """Stop: make no more steps."""
        self._is_over = True
        self._timers.stop()

    def _blamed(self, handler: Callable[..., None], error: BaseException) -> HandlerFailed:
        """An error of one line that names the innermost line in the file of the handler."""
        frames = traceback.extract_tb(error.__traceback__)
        file = getattr(getattr(handler, "__code__", None), "co_filename", "")
        where = ([frame for frame in frames if frame.filename == file] or frames)[-1]
        text = " ".join(str(error).encode(errors="replace").decode().split())
        words = f"{getattr(handler, '__name__', handler)} raised {type(error).__name__}: {text}"
        return HandlerFailed(f"{self._kind.__name__}: {words} ({where.filename}, line {where.lineno})")

    def _raised(self, error: ProtocolBug) -> None:
        """Record the step that failed, with a note as its only outcome, as the simulator does."""
        cause, at = self._unrecorded, now_us()
        noted = events.Noted(at if cause is None else cause.at, self._me, error.message)
        try:
            self._record([noted] if cause is None else [cause, noted])
        except VezError as worse:  # the journal cannot be written
            self._end(worse)
            return
        self._end(error)

    def _end(self, error: VezError) -> None:
        self.stop()
        self._outside.failed(error)

    def _fire(self, name: str) -> None:
        self.step((events.Fired, (name,)), self._handlers.timer(name))

    def _step(self, trigger: Trigger | None, handler: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        at = now_us()
        points: Sequence[Point] = ()
        cause = self._unrecorded = None if trigger is None else trigger[0](at, self._me, *trigger[1])
        if self._armed is None:
            recorder = Recorder(self._site, self._pick)
            handler(self.process, *arguments, recorder)
        else:
            recorder, points = self._run_armed(self._armed, handler, arguments)
        log: list[AnyEvent] = []
        written = 0
        if cause is not None:
            log.append(cause)
        if points:
            letters = self._plan_until(points, at, recorder, log)
        else:
            if self._durable_names and (changed := self._changed()):
                written = self._announce(log)
                self._unrecorded = None
                self._store(changed, at, log)
            letters = self._plan(at, recorder.effects, log)
            if self._journal is not None:
                self._describe(at, log)
        if log:
            self._record(log, written)
        for to, letter, message in letters:
            if self._conditions is not None:
                self._send_under(self._conditions.message(to), at, to, letter, message)
            elif to == self._me:
                self.own += 1
                self._loop.call_soon(self._deliver_own, letter.number, message)
            else:
                self._send(at, to, letter)
        if points:
            self.stop()
            self._loop.call_later(LAST_WORDS_S, self._outside.crash)
        elif log and any(type(event) is events.Entered for event in log):
            self._outside.entered()

    def _run_armed(
        self, armed: int, handler: Callable[..., None], arguments: tuple[Any, ...]
    ) -> tuple[Recorder, Sequence[Point]]:
        """Run a handler in which the process may crash. Returns its effects, and the moments up to the crash, if any.

        It runs on a copy, because a crash leaves the durable fields as they were in the middle of the handler.
        """
        body = msgspec.structs.replace(self.process)
        recorder = ActionRecorder(self._site, self._pick, body)
        handler(body, *arguments, recorder)
        points = recorder.points()
        if armed < len(points):
            return recorder, points[: armed + 1]
        self.process = body
        return recorder, ()

    def _plan_until(
        self, points: Sequence[Point], at: int, recorder: Recorder, log: list[AnyEvent]
    ) -> list[tuple[int, Letter, Message]]:
        """Plan the actions before a crash inside the handler. Fields are stored in the order of the program."""
        letters: list[tuple[int, Letter, Message]] = []
        done = 0
        for effects, durable in points:
            letters += self._plan(at, recorder.effects[done:effects], log)
            done = effects
            for name, value in zip(self._durable_names, durable, strict=True):
                setattr(self.process, name, value)
            self._store(self._changed(), at, log)
        return letters

    def _plan(self, at: int, effects: list[Effect], log: list[AnyEvent]) -> list[tuple[int, Letter, Message]]:
        """Number messages, set timers and record all effects. Returns the messages to send."""
        letters: list[tuple[int, Letter, Message]] = []
        last, body, full = None, b"", self._journal is not None
        for effect in effects:
            if type(effect) is Send:  # first and without matching, for speed
                to, message = effect
                if message is not last:  # a broadcast is encoded once
                    last, body = message, encode_body(message)
                self._number += 1
                kind = type(message).__name__
                letters.append((to, Letter(self._number, kind, body, 0, self._name), message))
                if full:
                    log.append(events.Sent(at, self._me, self._number, to, kind, fields_of(message)))
                continue
            match effect:
                case SetTimer(name, after_ms):
                    lasts_ms = after_ms if self._conditions is None else self._conditions.timer_ms(after_ms)
                    self._timers.set(name, at, lasts_ms)
                    log.append(events.TimerSet(at, self._me, name, round(after_ms * 1000)))
                case CancelTimer(name):
                    self._timers.cancel(name)
                    log.append(events.TimerCancelled(at, self._me, name))
                case Choose(options, chosen):
                    log.append(events.Chose(at, self._me, len(options), chosen))
                case Enter(token):
                    log.append(self._application.entered(at, token))
                case Elect(leader, term):
                    self._application.leader, self._application.term = leader, term
                    log.append(events.Elected(at, self._me, leader, term))
                case Note(text):
                    log.append(events.Noted(at, self._me, *unmarked(text)))
        return letters

    def _send_under(self, fate: Fate, at: int, to: int, letter: Letter, message: Message) -> None:
        """Send a message with the fate that the conditions of the run set."""
        if fate.lost:
            self._record([events.Lost(at, self._me, letter.number, "loss")])
        for delay_us in fate.delays_us:
            due_us = now_us() + delay_us
            if to != self._me:
                self._send(at, to, msgspec.structs.replace(letter, due_us=due_us if delay_us else 0))
                continue
            self._own_us = max(self._own_us, due_us)
            wait_s = (self._own_us - now_us()) / 1e6
            self.own += 1
            self._loop.call_later(wait_s, self._deliver_own, letter.number, message)
        if not fate.delays_us and to != self._me:
            self.sent[letter.kind] += 1

    def _deliver_own(self, number: int, message: Message) -> None:
        self.own -= 1
        self.deliver(self._me, number, "", message)

    def _picked(self, options: int) -> int:
        """The choice that the conditions set, or a random one."""
        index = None if self._conditions is None else self._conditions.choice()
        return SystemRandom().randrange(options) if index is None else min(index, options - 1)

    def _send(self, at: int, to: int, letter: Letter) -> None:
        self.sent[letter.kind] += 1
        try:
            self._outside.send(to, letter)
        except ReliableNotKept as error:
            self._record([events.Lost(at, self._me, letter.number, "loss")])
            raise ReliableNotKept(
                f"reliable not kept: channel to node {to}: {error.message}", hint=error.hint
            ) from None

    def _changed(self) -> dict[str, Any]:
        """The durable fields whose current values are not on disk."""
        process, known = self.process, self._stored
        return {name: getattr(process, name) for name in self._durable_names if getattr(process, name) != known[name]}

    def _announce(self, log: list[AnyEvent]) -> int:
        """Record the events that led to a change of durable fields before the fields are stored. Returns their number.

        A node that is killed in between recovers with fields that its journal explains.
        """
        if self._journal is not None and log:
            self._journal.write(log)
        return len(log)

    def _store(self, changed: dict[str, Any], at: int, log: list[AnyEvent]) -> None:
        if changed:
            self._durable.store(self.process)
            self._stored.update(changed)
            log.append(events.Stored(at, self._me, plain_values(changed)))

    def _describe(self, at: int, log: list[AnyEvent]) -> None:
        """Record the status and the view, if they changed."""
        text = self.process.status()
        if text != self._status:
            check_text(self._kind.__name__, f"status() of process {self._me} gave", text)
            self._status = text
            log.append(events.Status(at, self._me, *unmarked(text)))
        view = self.process.view() or NO_VIEW
        if view != self._view:
            self._view = view
            log.append(events.Viewed(at, self._me, view))

    def _record(self, log: list[AnyEvent], written: int = 0) -> None:
        """Write events to the journal, except the first `written` ones, which are in it already, and report all of
        them."""
        if self._journal is not None and log:
            self._journal.write(log[written:] if written else log)
        for event in log:
            self._outside.tell(event)
