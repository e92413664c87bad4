"""Expiry: handles timers that run out."""

from __future__ import annotations

from functools import partial

from vez.core import trace as events
from vez.core.process import Process
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.timers import Timer


class Expiry:
    """Calls the handler of a timer, at the end of the pause if the process is paused."""

    def __init__(self, availability: Availability, recording: Recording, dispatcher: Dispatcher) -> None:
        self._availability = availability
        self._recording = recording
        self._dispatcher = dispatcher

    def run_out(self, process: Process, timer: Timer, number: int, node: Node) -> None:
        """Handle a timer's entry of the agenda that is due. Does nothing if the timer was replaced or cancelled."""
        if timer.running.get(node.me) == number:
            self._availability.when_awake(node.me, partial(self._fire, node, timer, number))

    def _fire(self, node: Node, timer: Timer, number: int) -> None:
        if timer.running.get(node.me) == number:  # it may have been cancelled during a pause
            del timer.running[node.me]
            self._recording.add(events.Fired, node.me, timer.name)
            self._dispatcher.call(node, timer.handler)


def run_out_quietly(process: Process, timer: Timer, number: int, node: Node) -> None:
    """Version of `Expiry.run_out` for quiet runs: no recording and no pauses."""
    if timer.running.get(node.me) == number:
        del timer.running[node.me]
        timer.handler(process, node)
