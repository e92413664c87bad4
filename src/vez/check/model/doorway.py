"""The doorway: which messages a request must have delivered before a later request overtakes it.

`bounded_waiting` counts from the moment at which a request is placed: when all that its `on_want` sent has arrived, as
in `vez.properties.doorway`. So for this property alone a machine is used that marks these messages, and shows their
arrival to the observer. Handlers do not see the marks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vez.check.model.configuration import FOREVER, Configuration
from vez.check.model.local import INSIDE_A_HANDLER, Event, Local, Machine, Transition
from vez.errors import Misuse


class Marked(NamedTuple):
    """A message that `on_want` sent, and which request it belongs to: the number of requests left after it.

    With requests without end that number is always the same. Equal messages of two requests then cannot be told
    apart, and the older one counts as the one that arrives first, as in a replay.
    """

    message: Any
    request: int


class DoorwayMachine(Machine):
    """A machine that shows the arrival of what `on_want` sent."""

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
    """The outcome of `on_want` with its messages marked, and shown right after the want."""
    sends = tuple((to, Marked(message, outcome.local.left)) for to, message in outcome.sends)
    want, *rest = outcome.visible
    return outcome._replace(sends=sends, visible=(want, ("ask", sends), *rest))
