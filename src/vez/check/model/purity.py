"""Purity: a handler may depend on its fields, its event and `io.choose`, and on nothing else.

The search runs every handler once for each local state and event, and remembers the outcome. If a handler reads a
clock, a random number, a global or the order of a set, what is remembered is luck, and so is the verdict. So every
transition is computed a second time, later and in another order, and compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vez.check.model.identity import identity
from vez.check.model.local import Event, Transition
from vez.errors import NotDeterministic

if TYPE_CHECKING:
    from vez.check.model.semantics import Model

BATCH = 256
"""Transitions between two second runs: enough that a counter or a cache has moved on meanwhile."""


class Purity:
    """The transitions that were computed once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._once: list[tuple[int, int, Event, tuple[Transition, ...]]] = []

    def note(self, place: int, local: int, event: Event, found: tuple[Transition, ...]) -> None:
        """Remember a transition until it is computed again."""
        self._once.append((place, local, event, found))
        if len(self._once) >= BATCH:
            self.settle()

    def settle(self) -> None:
        """Compute every transition again, the latest first; raise `NotDeterministic` if one differs."""
        once, self._once = self._once[::-1], []
        model, machine = self._model, self._model.machine
        cut = machine.cut
        for place, local, event, found in once:
            again = machine.again(model.ids[place], model.locals[local], model.real(event))
            if identity(again) != identity(found):
                raise self._difference(place, event, found, again)
        machine.cut = cut

    def _difference(self, place: int, event: Event, one: Any, other: Any) -> NotDeterministic:
        algorithm = self._model.configuration.algorithm
        what = "had another outcome"
        if len(one) == len(other) == 1:
            names = zip(algorithm.__struct_fields__, one[0].local.fields, other[0].local.fields, strict=True)
            fields = [f"left {name} at {a!r} and then at {b!r}" for name, a, b in names if identity(a) != identity(b)]
            sends = (
                [f"sent {list(one[0].sends)} and then {list(other[0].sends)}"] if one[0].sends != other[0].sends else []
            )
            what = ", ".join([*fields, *sends]) or what
        return NotDeterministic(
            f"{algorithm.__name__}.{self._model.handler(event)} of process {self._model.ids[place]}, "
            f"in the same state with the same event, {what}",
            hint="use io.choose for chance and io.set_timer for time; sort sets before emitting; keep state in fields",
        )
