"""The doorway: the messages that must arrive before a request counts as placed.

`bounded_waiting` counts from the moment at which a request is placed: when all messages that its `on_want` sent have
arrived, as in `vez.judge.properties.doorway`. So, for this property only, a machine marks these messages and shows
their arrival to the observer. Handlers do not see the marks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vez.errors import Misuse
from vez.worlds.check.model.configuration import FOREVER, Configuration
from vez.worlds.check.model.local import INSIDE_A_HANDLER, Event, Local, Machine, Transition


class Marked(NamedTuple):
    """A message that `on_want` sent. Its request is identified by the number of requests left after it.

    If requests are unlimited, that number is always the same. Equal messages of two requests then cannot be
    distinguished, and the older one counts as the one that arrives first, as in a replay.
    """

    message: Any
    request: int


class DoorwayMachine(Machine):
    """A machine that shows the arrival of the messages that `on_want` sent."""

    def __init__(self, configuration: Configuration) -> None:
        if FOREVER in configuration.requests.values() and any(configuration.budget.counts()):
            raise Misuse(
                "bounded_waiting with requests without end cannot tell apart the messages of two requests if there "
                "are faults",
                hint="say how often each wants in: --requests 2",
            )
        super().__init__(configuration)

    def react(self, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        inside = event[:1] if event[0] == INSIDE_A_HANDLER else ()
        kind, *details = event[len(inside) :]
        if kind == "deliver" and isinstance(details[1], Marked):
            sender, marked = details
            arrival = ("arrive", sender, marked)
            outcomes = super().react(process, local, (*inside, kind, sender, marked.message))
            return tuple(outcome._replace(visible=(arrival, *outcome.visible)) for outcome in outcomes)
        outcomes = super().react(process, local, event)
        return tuple(map(_marked, outcomes)) if kind == "want" else outcomes


def _marked(outcome: Transition) -> Transition:
    """The outcome of `on_want` with its messages marked, and made visible right after the want."""
    sends = tuple((to, Marked(message, outcome.local.left)) for to, message in outcome.sends)
    want, *rest = outcome.visible
    return outcome._replace(sends=sends, visible=(want, ("ask", sends), *rest))
