"""Dispatcher: finds the handler of what arrives, and calls handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.core.message import Message, handler_name
from vez.core.process import Process
from vez.errors import UnhandledMessage, article
from vez.sim.choices import Choices
from vez.sim.debug import run_twice
from vez.sim.node import Node
from vez.sim.recording import Recording


class Dispatcher:
    """The handlers of an algorithm, and of what else the agenda delivers (timers, wants, broadcasts)."""

    def __init__(self, algorithm: type[Process], recording: Recording, choices: Choices, *, debug: bool) -> None:
        self._algorithm = algorithm
        self._recording = recording
        self._choices = choices
        self._debug = debug
        self.by_kind: dict[type, Callable[..., None]] = {}
        """What has been found or added so far. The loops look here first."""

    def add(self, kind: type, handler: Callable[..., None]) -> None:
        """Deliveries of this kind go to `handler(process, what, sender, node)`."""
        self.by_kind[kind] = handler

    def find(self, kind: type[Message]) -> Callable[..., None]:
        """The handler of a kind of message, found by name when the first one arrives."""
        found = self.by_kind.get(kind)
        if found is None:
            name = handler_name(kind)
            found = getattr(self._algorithm, name, None)
            if found is None:
                raise UnhandledMessage(
                    f"{self._algorithm.__name__} received {article(kind.__name__)} and has no {name}",
                    hint=f"define {name}(self, message, sender, io)",
                )
            self.by_kind[kind] = found
        return found

    def call(self, node: Node, handler: Callable[..., None], *arguments: Any) -> None:
        """Run a handler of a live process, then record how the process describes itself."""
        if self._debug:
            run_twice(node, self._choices, handler, arguments)
        else:
            handler(node.process, *arguments, node)
        if self._recording.log is not None:
            self._recording.describe(node.me, node.process)
