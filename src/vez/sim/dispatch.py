"""Dispatcher: finds and calls handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.core.message import Message
from vez.core.process import Process, handlers_of
from vez.sim.choices import Choices
from vez.sim.debug import run_twice
from vez.sim.node import Node
from vez.sim.recording import Recording


class Dispatcher:
    """The handlers of an algorithm, and of the other entries of the agenda (timers, wants, broadcasts)."""

    def __init__(self, algorithm: type[Process], recording: Recording, choices: Choices, *, debug: bool) -> None:
        self._handlers = handlers_of(algorithm)
        self._recording = recording
        self._choices = choices
        self._debug = debug
        self.by_kind: dict[type, Callable[..., None]] = {}
        """Handlers that have been found or added. The loops look here first."""

    def add(self, kind: type, handler: Callable[..., None]) -> None:
        """Deliveries of this kind go to `handler(process, what, sender, node)`."""
        self.by_kind[kind] = handler

    def find(self, kind: type[Message]) -> Callable[..., None]:
        """The handler of a kind of message, looked up when the first one arrives."""
        found = self.by_kind.get(kind)
        if found is None:
            found = self.by_kind[kind] = self._handlers.message(kind)
        return found

    def call(self, node: Node, handler: Callable[..., None], *arguments: Any) -> None:
        """Run a handler of a live process, then record what it stored and how it describes itself."""
        recording, log = self._recording, self._recording.log
        started = 0 if log is None else len(log)
        if self._debug:
            run_twice(node, self._choices, handler, arguments)
        else:
            handler(node.process, *arguments, node)
        if log is not None:
            recording.handler_ended(node.me, node.process, started)
