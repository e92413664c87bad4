"""Causality: the requests that happened before each state of a process and before each message.

`request_order` is about happened-before, which the states of an algorithm do not contain. So, for this property only,
each process also carries a vector: for every process, the number of its requests that happened before now (Lamport,
CACM 21(7), 1978; Mattern's vectors, counting only requests). Each message carries the vector of its sender. Handlers
see neither. As in `vez.judge.properties.causality`, a crash does not erase the vector, and a report of the failure
detector is not a message.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from vez.core.identity import identity
from vez.core.message import Message
from vez.errors import Misuse
from vez.worlds.check.model.configuration import FOREVER, Configuration
from vez.worlds.check.model.doorway import DoorwayMachine, Marked
from vez.worlds.check.model.local import INSIDE_A_HANDLER, Event, Local, Machine, Transition

Known = tuple[int, ...]
"""By place: the number of requests of that process that happened before."""


class Stamped(NamedTuple):
    """A message with the vector of its sender."""

    message: Message
    known: Known


def bare(message: Any) -> Message:
    """The message without the additions of the machine, as the algorithm sent it."""
    while isinstance(message, Stamped | Marked):
        message = message.message
    found: Message = message
    return found


class CausalMachine(Machine):
    """A machine whose processes and messages carry the requests that happened before them."""

    def __init__(self, configuration: Configuration) -> None:
        if FOREVER in configuration.requests.values():
            raise Misuse(
                "request_order counts the requests, so that requests without end have endless states",
                hint="say how often each wants in: --requests 2",
            )
        super().__init__(configuration)
        self._nothing: Known = (0,) * len(configuration.ids)
        self._place = {process: place for place, process in enumerate(configuration.ids)}
        self._reactions: dict[Hashable, tuple[Transition, ...]] = {}

    def initial(self, process: int) -> tuple[Transition, ...]:
        return tuple(_stamped(outcome, self._nothing) for outcome in super().initial(process))

    def initial_inside(self, process: int) -> tuple[Transition, ...]:
        return tuple(_stamped(outcome, self._nothing) for outcome in super().initial_inside(process))

    def react(self, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        known, inside = local.known, event[:1] if event[0] == INSIDE_A_HANDLER else ()
        event = event[len(inside) :]
        if event[0] == "deliver":
            kind, sender, message = event
            known = tuple(map(max, known, message.known))
            event = (kind, sender, message.message)
        elif event[0] == "want":
            place = self._place[process]
            known = (*known[:place], known[place] + 1, *known[place + 1 :])
        outcomes = self._reaction(process, local._replace(known=()), (*inside, *event))
        return tuple(_stamped(outcome, known) for outcome in outcomes)

    def _reaction(self, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        """The outcomes of the handler, cached. They do not depend on the vector."""
        key = identity((process, local, event))
        found = self._reactions.get(key)
        if found is None:
            found = self._reactions[key] = super().react(process, local, event)
        return found


class CausalDoorwayMachine(DoorwayMachine, CausalMachine):
    """A machine with both additions: messages are stamped, and then marked."""


_MACHINES: dict[frozenset[str], type[Machine]] = {
    frozenset(): Machine,
    frozenset({"causality"}): CausalMachine,
    frozenset({"doorway"}): DoorwayMachine,
    frozenset({"causality", "doorway"}): CausalDoorwayMachine,
}


def machine_for(configuration: Configuration, needs: frozenset[str]) -> Machine:
    """The machine that provides what an observer needs."""
    return _MACHINES[needs](configuration)


def _stamped(outcome: Transition, known: Known) -> Transition:
    return outcome._replace(
        local=outcome.local._replace(known=known),
        sends=tuple((to, Stamped(message, known)) for to, message in outcome.sends),
        visible=tuple((*seen, known) if seen[0] == "want" else seen for seen in outcome.visible),
    )
