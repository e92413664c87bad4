"""Handler crashes: crashes inside a handler, after some of its actions.

The handler runs to its end on a copy of the process, and its effects are only recorded. If it has more actions than
the crash allows, the allowed ones are performed, durable fields get the values that they had at that moment, and the
process crashes. Otherwise everything is performed, and the crash waits for the next handler.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from vez.core.effects import Choose, Effect, perform
from vez.core.process import DURABLE, marked
from vez.core.recorder import ActionRecorder, Site
from vez.worlds.sim.choices import Choices
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording


class Armed(NamedTuple):
    """A crash that waits for a handler with more actions than `after`."""

    after: int
    crash: Callable[[], None]


class HandlerCrashes:
    """The crashes that wait for a handler, by process."""

    def __init__(self, recording: Recording, choices: Choices) -> None:
        self._recording = recording
        self._choices = choices
        self.armed: defaultdict[int, list[Armed]] = defaultdict(list)

    def arm(self, process: int, after: int, crash: Callable[[], None]) -> None:
        """Let the process crash in the first handler from now on that has more actions than `after`."""
        self.armed[process].append(Armed(after, crash))

    def run(self, node: Node, handler: Callable[..., None], arguments: tuple[Any, ...]) -> bool:
        """Run a handler of a process that may crash in it. Returns False if the process crashed."""
        body = msgspec.structs.replace(node.process)
        site = Site(type(body), node.services.topology_cache.topology, node.me)
        io = ActionRecorder(site, lambda count: self._choices.pick(node.me, count), body)
        handler(body, *arguments, io)
        points = io.points()
        first = next((one for one in self.armed[node.me] if one.after < len(points)), None)
        if first is None:
            node.process = body
            _perform(io.effects, node)
            return True
        done = 0
        for effects, durable in points[: first.after + 1]:
            _perform(io.effects[done:effects], node)
            done = effects
            for name, value in zip(marked(type(body), DURABLE), durable, strict=True):
                setattr(node.process, name, value)
            self._recording.stored(node.me, node.process)
        self.armed[node.me].remove(first)
        if not self.armed[node.me]:
            del self.armed[node.me]
        first.crash()
        return False


def _perform(effects: list[Effect], node: Node) -> None:
    for effect in effects:
        if isinstance(effect, Choose):
            node.chose(len(effect.options), effect.chosen)
        else:
            perform(effect, node)
