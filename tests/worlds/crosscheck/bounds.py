"""Bounds: whether a simulated run stays within the bounds up to which the checker follows."""

from __future__ import annotations

from collections import Counter

from vez.core.process import Process
from vez.core.trace import Delivered, Lost, MessageId, Sent, Trace
from vez.worlds.check import Configuration


class Bounds:
    """The bounds of a configuration, for one run of its `algorithm`."""

    def __init__(self, configuration: Configuration) -> None:
        self.exceeded = False
        """True if a field of a process was larger than its bound after some handler."""
        self.algorithm = self._watched(configuration) if configuration.bounds else configuration.algorithm
        self.capacity = configuration.capacity

    def _watched(self, configuration: Configuration) -> type[Process]:
        bounds = self

        class Watched(configuration.algorithm):  # type: ignore[misc, name-defined]
            """The same algorithm. The simulator asks for the status after every handler."""

            def status(self) -> str:
                bounds.exceeded |= not configuration.within(self)
                text: str = super().status()
                return text

        return Watched

    def exceeds(self, trace: Trace) -> bool:
        """True if more messages were on a channel at once than its capacity."""
        if not self.capacity:
            return False
        channels: dict[MessageId, tuple[int, int]] = {}
        under_way: Counter[tuple[int, int]] = Counter()
        for event in trace:
            if isinstance(event, Sent):
                channels[event.process, event.number] = event.process, event.to
                under_way[event.process, event.to] += 1
                if under_way[event.process, event.to] > self.capacity:
                    return True
            elif isinstance(event, Delivered | Lost):
                channel = channels.pop(message_of(event), None)
                if channel is not None:
                    under_way[channel] -= 1
        return False


def message_of(event: Delivered | Lost) -> MessageId:
    """The message that arrives or is lost."""
    return (event.sender if isinstance(event, Delivered) else event.process), event.number
