"""Dispatcher: finds and calls handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.core.message import Message
from vez.core.process import Process, handlers_of
from vez.worlds.sim.choices import Choices
from vez.worlds.sim.debug import Debug
from vez.worlds.sim.handler_crashes import HandlerCrashes
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording


class Dispatcher:
    """The handlers of an algorithm, and of the other entries of the agenda (timers, wants, broadcasts)."""

    def __init__(self, algorithm: type[Process], recording: Recording, choices: Choices, *, debug: bool) -> None:
        self._handlers = handlers_of(algorithm)
        self._recording = recording
        self._debug = Debug(choices) if debug else None
        self.inside = HandlerCrashes(recording, choices)
        self.by_kind: dict[type, Callable[..., None]] = {}
        """Handlers that have been found or added. The loops read this table first."""

    def add(self, kind: type, handler: Callable[..., None]) -> None:
        """Pass deliveries of this kind to `handler(process, what, sender, node)`."""
        self.by_kind[kind] = handler

    def find(self, kind: type[Message]) -> Callable[..., None]:
        """The handler of a kind of message, looked up when the first one arrives."""
        found = self.by_kind.get(kind)
        if found is None:
            found = self.by_kind[kind] = self._handlers.message(kind)
        return found

    def settle(self) -> None:
        """At the end of a debug run: repeat the handlers that were not repeated yet."""
        if self._debug is not None:
            self._debug.settle()

    def call(self, node: Node, handler: Callable[..., None], *arguments: Any) -> None:
        """Run a handler of a live process, then record what it stored and how it describes itself."""
        recording, log = self._recording, self._recording.log
        started = 0 if log is None else len(log)
        if node.me in self.inside.armed:
            if not self.inside.run(node, handler, arguments):
                return
        elif self._debug is not None:
            self._debug.run(node, handler, arguments)
        else:
            handler(node.process, *arguments, node)
        if log is not None:
            recording.handler_ended(node.me, node.process, started)
