"""Background: one participant on an event loop in its own thread, shared by all clients of this program.

The loop is never that of the caller, for three reasons. The other members wait for our answers, and must not wait for a
program that blocks its own loop. Threads, tasks and several event loops of one program are the same member. And only
one socket can listen at an address.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import threading
from _thread import allocate_lock
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar, cast

from vez.errors import EngineUnavailable
from vez.locks.engines.machine import at_fork
from vez.locks.engines.wording import client_closed
from vez.locks.peers.participant import Participant
from vez.locks.peers.settings import Settings
from vez.locks.peers.traits import traits_of
from vez.worlds.node.log import Log
from vez.worlds.node.node import loop_factory

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("vez.peers")
LONGEST_LEAVE_S = 10.0
"""Seconds after which a program that ends no longer waits for its goodbye to be sent."""


class LoggedLines(Log):
    """Log lines for an operator, written as warnings of the logger `vez.peers`."""

    def write(self, line: str) -> None:
        """Log a whole line."""
        log.warning("%s", line.replace("vez node ", "member ", 1).replace(" node ", " member "))


class Answer(Generic[R]):
    """A result that one thread waits for and another provides.

    It is not a `concurrent.futures.Future`: an interrupt of the waiting thread could leave the lock of a future taken,
    and the loop would wait for that lock for ever.
    """

    def __init__(self) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()
        self._result: R | None = None
        self.done = False
        self.error: BaseException | None = None

    def wait(self) -> R:
        """Wait for the result and return it, or raise the error that was provided."""
        self._gate.acquire()
        self._gate.release()
        if self.error is not None:
            raise self.error
        return cast(R, self._result)

    def give(self, result: R) -> None:
        """Provide the result. Called once."""
        self._result, self.done = result, True
        self._gate.release()

    def fail(self, error: BaseException) -> None:
        """Provide an error instead of a result."""
        self.error, self.done = error, True
        self._gate.release()

    def take(self, action: Callable[[], R]) -> None:
        """Call `action`, and provide what it returns or raises."""
        try:
            result = action()
        except Exception as error:
            self.fail(error)
        else:
            self.give(result)


class Background:
    """A participant and its thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.users = 1
        self.forked = False
        """True in a forked child, which is not a member of the group."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started: Answer[None] = Answer()
        self._end: asyncio.Event | None = None
        self._promised: dict[Callable[[], object], None] = {}  # to be called instead, if the loop ends
        self.participant: Participant
        self._thread = threading.Thread(target=self._run, name=f"vez peers {settings.me}", daemon=True)

    def start(self) -> None:
        """Join the group. Raises if this member cannot join."""
        self._thread.start()
        self._started.wait()
        where = self.settings.group.addresses[self.settings.me]
        notes = " ".join(traits_of(self.settings).notes)
        log.warning("member %d of group %s at %s: %s", self.settings.me, self.settings.group.name, where, notes)

    @property
    def is_started(self) -> bool:
        """True if this member has joined its group."""
        return self._started.done and self._started.error is None

    def post(
        self, action: Callable[..., object], *arguments: object, otherwise: Callable[[], object] | None = None
    ) -> None:
        """Call `action` on the loop, after everything that was posted before.

        `otherwise` is called instead if the loop ends before, because a caller may be waiting.
        """
        if self.forked:
            raise EngineUnavailable(
                "this process was forked from a member of the group",
                hint="connect in the child, as a member with a number of its own",
            )
        if otherwise is not None:
            self._promised[otherwise] = None
            action, arguments = self._keep_promise, (otherwise, action, arguments)
        try:
            if self._loop is None:
                raise RuntimeError
            self._loop.call_soon_threadsafe(action, *arguments)
        except RuntimeError:
            if otherwise is not None:
                self._promised.pop(otherwise, None)
            raise client_closed(self.settings.url) from None

    def _keep_promise(
        self, otherwise: Callable[[], object], action: Callable[..., object], arguments: tuple[object, ...]
    ) -> None:
        self._promised.pop(otherwise, None)
        action(*arguments)

    def call(self, action: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Call `action` on the loop, wait for it, and return its result."""
        answer: Answer[R] = Answer()
        url = self.settings.url
        self.post(answer.take, lambda: action(*arguments, **options), otherwise=lambda: answer.fail(client_closed(url)))
        return answer.wait()

    def stop(self) -> None:
        """Leave the group, and wait for the end of the thread."""
        with contextlib.suppress(EngineUnavailable):
            self.post(self._stop)
        if not self.forked and self._thread.ident != threading.get_ident():
            self._thread.join(LONGEST_LEAVE_S)

    def _stop(self) -> None:
        if self._end is not None:
            self._end.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            self._loop = runner.get_loop()
            runner.run(self._live())
        self._loop = None  # the loop is closed: nothing can be posted from here on
        while self._promised:
            self._promised.popitem()[0]()

    async def _live(self) -> None:
        self._end = asyncio.Event()
        try:
            self.participant = Participant(self.settings, LoggedLines(self.settings.me))
        except BaseException as error:
            self._started.fail(error)
            return
        try:
            await self.participant.start()
        except BaseException as error:
            await self.participant.leave()
            self._started.fail(error)
            return
        self._started.give(None)
        await self._end.wait()
        await self.participant.leave()


_running: dict[str, Background] = {}
_mutex = threading.Lock()
_orphans: list[Background] = []  # of the parent; kept, because their finalisers would close sockets of the parent


def join(settings: Settings) -> Background:
    """The participant of this program for a URL. The first call joins the group."""
    with _mutex:
        found = _running.get(settings.url)
        if found is not None:
            found.users += 1
            return found
        made = Background(settings)
        made.start()
        _running[settings.url] = made
        return made


def part(background: Background) -> None:
    """Remove one user of the participant. After the last one, leave the group."""
    with _mutex:
        background.users -= 1
        if background.users or background.forked:
            return
        if _running.get(background.settings.url) is background:
            del _running[background.settings.url]
        background.stop()


def _leave_all() -> None:
    """Leave every group, because the program ends."""
    with _mutex:
        for background in _running.values():
            with contextlib.suppress(EngineUnavailable):
                background.post(background._stop)
        for background in _running.values():
            background.stop()
        _running.clear()


def _forget() -> None:
    """Drop the participants in a forked child, which is not a member. It closes its copies of the connections:
    otherwise the other members would not notice the end of the parent."""
    global _mutex
    _mutex = threading.Lock()
    for background in _running.values():
        background.forked = True
        _orphans.append(background)
        if background.is_started:
            background.participant.close_sockets()
    _running.clear()


atexit.register(_leave_all)
at_fork(after_in_child=_forget)
