"""Positions: a recipe that stands at a yield, as a text that can be a field of a process.

A generator cannot be copied or hashed, so a field holds the name of its state instead: where each generator of the
`yield from` chain stands, with the values of its locals (those that can still be read) and of its stack. Two
generators with the same name go on in the same way. For every name the shortest list of replies that leads there is
remembered; to send something, the recipe is started anew, given these replies, and then the new one. That happens once
for each name and reply: what came of it is remembered too.

Names are the same under any PYTHONHASHSEED. They do depend on the version of Python, whose instructions are counted.
"""

from __future__ import annotations

import gc
import hashlib
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from vez.errors import ProtocolBug
from vez.models.recipes.locals import live_locals
from vez.recipes.base import Recipe, Step, Withdrawn

Maker = Callable[..., Recipe[Any]]
Opening = tuple[Maker, tuple[Any, ...]]
"""A recipe that was not started yet, and its arguments."""


class Paused(NamedTuple):
    """The recipe yielded and waits for the reply. What it asked for need not follow from the position: do it now."""

    position: str
    step: Step


class Returned(NamedTuple):
    """The recipe is over; `value` is its result."""

    value: Any


class Raised(NamedTuple):
    """The recipe ended with an exception."""

    error: Exception


Outcome = Paused | Returned | Raised


class _Withdrawal(msgspec.Struct, frozen=True):
    """Stands among the replies for `Withdrawn`, which is thrown."""


WITHDRAWAL = _Withdrawal()


class _Place(NamedTuple):
    opening: Opening
    replies: tuple[Any, ...]
    """The shortest known way here."""
    signature: tuple[Any, ...]


class Positions:
    """What is known of recipes: the way to each position, and what comes of each reply there."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._openings: dict[Opening, Outcome] = {}
        self._moves: dict[tuple[str, Any], Outcome] = {}

    def __len__(self) -> int:
        return len(self._places)

    def begin(self, recipe: Maker, *arguments: Any) -> Outcome:
        """Start a recipe, up to its first yield."""
        opening = (recipe, arguments)
        found = self._openings.get(opening)
        if found is None:
            found = self._openings[opening] = self._advance(recipe(*arguments), opening, ())
        return found

    def send(self, position: str, reply: Any) -> Outcome:
        """Send a reply to the recipe that stands there. `WITHDRAWAL` throws `Withdrawn` instead."""
        key = (position, reply)
        found = self._moves.get(key)
        if found is None:
            place = self._places[position]
            generator = self._rebuilt(position, place)
            found = self._moves[key] = self._advance(generator, place.opening, (*place.replies, reply))
        return found

    def _rebuilt(self, position: str, place: _Place) -> Recipe[Any]:
        recipe, arguments = place.opening
        generator = recipe(*arguments)
        next(generator)
        for reply in place.replies:
            _give(generator, reply)
        if signature(generator) != place.signature:
            raise ProtocolBug(
                f"recipe {recipe.__qualname__} came to another state than {position} when its replies were repeated",
                hint="a recipe depends on its arguments and replies alone",
            )
        return generator

    def _advance(self, generator: Recipe[Any], opening: Opening, replies: tuple[Any, ...]) -> Outcome:
        try:
            step = _give(generator, replies[-1]) if replies else next(generator)
        except StopIteration as end:
            return Returned(end.value)
        except Exception as error:
            return Raised(error.with_traceback(None))
        found = signature(generator)
        position = name_of(found)
        known = self._places.setdefault(position, _Place(opening, replies, found))
        if known.signature != found:
            raise ProtocolBug(f"two states of recipes have the name {position}")
        if len(known.replies) > len(replies):
            self._places[position] = _Place(opening, replies, found)
        return Paused(position, step)


def _give(generator: Recipe[Any], reply: Any) -> Step:
    return generator.throw(Withdrawn()) if reply == WITHDRAWAL else generator.send(reply)


def signature(generator: Recipe[Any]) -> tuple[Any, ...]:
    """Where a generator stands: for each of the `yield from` chain its code, instruction, locals and stack."""
    return tuple(_frame(one) for one in _chain(generator))


def name_of(found: tuple[Any, ...]) -> str:
    """A readable name of a signature: the functions, and a digest of everything."""
    functions = ".".join(code for code, *_ in found)
    digest = hashlib.blake2b(repr(found).encode(), digest_size=6).hexdigest()
    return f"{functions}#{digest}"


def _chain(generator: Any) -> Iterator[types.GeneratorType[Any, Any, Any]]:
    while isinstance(generator, types.GeneratorType):
        yield generator
        generator = generator.gi_yieldfrom


def _frame(generator: types.GeneratorType[Any, Any, Any]) -> tuple[Any, ...]:
    frame, code = generator.gi_frame, generator.gi_code
    assert frame is not None, "it has yielded, so it is not over"
    live = live_locals(code, frame.f_lasti)
    named = tuple((name, _plain(value, code)) for name, value in sorted(frame.f_locals.items()) if name in live)
    return code.co_qualname, frame.f_lasti, named, tuple(_stack(generator))


def _stack(generator: types.GeneratorType[Any, Any, Any]) -> Iterator[Any]:
    """What lies on the stack and has no name: the rest of a `for` loop, and the exception that is being handled."""
    for value in gc.get_referents(generator):
        if isinstance(value, BaseException):
            yield _plain(value, generator.gi_code)
        elif hasattr(value, "__next__") and not isinstance(value, types.GeneratorType):
            kind, *rest = value.__reduce__()
            yield (kind.__name__, _plain(tuple(rest), generator.gi_code))


def _plain(value: Any, code: types.CodeType) -> Any:
    """A value with a `repr` that tells everything and never varies. Refuses what can change in place."""
    if value is None or type(value) in (int, str, bool, float, bytes):
        return value
    if isinstance(value, tuple):
        return tuple(_plain(part, code) for part in value)
    if isinstance(value, range):
        return ("range", value.start, value.stop, value.step)
    if isinstance(value, frozenset):
        return ("frozenset", *sorted((_plain(part, code) for part in value), key=repr))
    if isinstance(value, msgspec.Struct) and value.__struct_config__.frozen:
        return (type(value).__name__, *(_plain(part, code) for part in msgspec.structs.astuple(value)))
    if isinstance(value, BaseException):
        return (type(value).__name__, _plain(value.args, code))
    if isinstance(value, type | types.FunctionType):
        return value.__qualname__
    raise ProtocolBug(
        f"recipe {code.co_qualname} keeps {value!r} over a yield, which can change in place",
        hint="recipes keep tuples, frozensets and frozen structs",
    )
