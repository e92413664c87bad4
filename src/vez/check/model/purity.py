"""Purity: a handler may depend on its fields, its event and `io.choose`, and on nothing else.

The search runs every handler once for each local state and event, and remembers the outcome. If a handler reads a
clock, a random number, a global or the order of a set, what is remembered is luck, and so is the verdict. So calls of
handlers are repeated, later and in another order, and compared: all of the first ones, and then every fourth. Repeating
all of them cost a tenth of the time to the verdict on `ricart-agrawala -n 3 --requests 2`, which makes 3,000 calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from vez.core.effects import Effect
from vez.errors import NotDeterministic

BATCH = 256
"""Calls between two repetitions: enough that a counter or a cache has moved on meanwhile."""

ALL_OF = 1000
"""Calls that are all repeated."""
THEN_ONE_IN = 4

Fields = tuple[Any, ...]


class Call(NamedTuple):
    """One call of a handler: of which process, with which fields, and the choices that were made for it."""

    process: int
    fields: Fields
    handler: Callable[..., None]
    arguments: tuple[Any, ...]
    script: tuple[int, ...]


class Purity:
    """The calls that were made once, each with its effects and the fields after it."""

    def __init__(self, repeat: Callable[[Call], tuple[list[Effect], Fields]]) -> None:
        self._repeat = repeat
        self._once: list[tuple[Call, list[Effect], Fields]] = []
        self._calls = 0

    def note(self, call: Call, effects: list[Effect], fields: Fields) -> None:
        """Remember a call until it is repeated."""
        self._calls += 1
        if self._calls > ALL_OF and self._calls % THEN_ONE_IN:
            return
        self._once.append((call, effects, fields))
        if len(self._once) >= BATCH:
            self.settle()

    def settle(self) -> None:
        """Repeat every call, the latest first; raise `NotDeterministic` if one differs."""
        once, self._once = self._once[::-1], []
        for call, effects, fields in once:
            again, after = self._repeat(call)
            if again != effects or after != fields or list(map(type, after)) != list(map(type, fields)):
                raise _difference(call, (effects, fields), (again, after))


def _difference(call: Call, one: tuple[Any, ...], other: tuple[Any, ...]) -> NotDeterministic:
    what = f"left {one[1]} and then {other[1]}" if one[0] == other[0] else f"did {one[0]} and then {other[0]}"
    return NotDeterministic(
        f"{call.handler.__qualname__} of process {call.process}, in the same state with the same event, {what}",
        hint="use io.choose for chance and io.set_timer for time; sort sets before emitting; keep state in fields",
    )
