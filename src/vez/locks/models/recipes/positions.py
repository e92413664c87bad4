"""Positions: a recipe that stands at a yield, as a text that can be a field of a process.

A generator cannot be copied or hashed, so a field holds the name of its state instead: the position of each generator
of the `yield from` chain, with the values of its live locals and of its stack. Two generators with the same name
continue in the same way. For every name, the shortest list of replies that leads to it is remembered. To send a reply,
the recipe is started again, given these replies, and then the new one. That happens once for each name and reply,
because the outcome is remembered too.

Names are the same under any PYTHONHASHSEED and on any version of Python: a place is a yield of the source.
"""

from __future__ import annotations

import gc
import hashlib
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from vez.errors import ProtocolBug
from vez.locks.models.recipes.places import place_of
from vez.locks.recipes.base import Recipe, Step, Withdrawn

Maker = Callable[..., Recipe[Any]]
Opening = tuple[Maker, tuple[Any, ...]]
"""A recipe that was not started yet, and its arguments."""


class Paused(NamedTuple):
    """The recipe yielded and waits for the reply. The request need not follow from the position, so execute it now."""

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
    """The entry in the list of replies at which `Withdrawn` is thrown."""


WITHDRAWAL = _Withdrawal()


class _Place(NamedTuple):
    opening: Opening
    replies: tuple[Any, ...]
    """The shortest known list of replies that leads to this position."""
    signature: tuple[Any, ...]


class Positions:
    """The known positions of recipes: the replies that lead to each, and the outcome of each reply sent there."""

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
    """The position of a generator: place, live locals and stack of each generator in the `yield from` chain."""
    return tuple(_frame(one) for one in _chain(generator))


def name_of(found: tuple[Any, ...]) -> str:
    """A readable name of a signature: the functions, and a digest of everything."""
    functions = ".".join(function for function, *_ in found)
    digest = hashlib.blake2b(repr(found).encode(), digest_size=6).hexdigest()
    return f"{functions}#{digest}"


def _chain(generator: Any) -> Iterator[types.GeneratorType[Any, Any, Any]]:
    while isinstance(generator, types.GeneratorType):
        yield generator
        generator = generator.gi_yieldfrom


def _frame(generator: types.GeneratorType[Any, Any, Any]) -> tuple[Any, ...]:
    frame, code, place = generator.gi_frame, generator.gi_code, place_of(generator)
    assert frame is not None, "it has yielded, so it is not over"
    named = tuple((name, _plain(value, code)) for name, value in sorted(frame.f_locals.items()) if name in place.live)
    return place.function, frame.f_globals.get("__name__"), place.number, named, tuple(_stack(generator))


def _stack(generator: types.GeneratorType[Any, Any, Any]) -> Iterator[Any]:
    """The unnamed values on the stack: the rest of a `for` loop, and the exception that is being handled. Other
    values there follow from the live locals, or the place was refused."""
    code = generator.gi_code
    for value in gc.get_referents(generator):
        if isinstance(value, BaseException):
            yield _plain(value, code)
        elif isinstance(value, types.GeneratorType):
            if value is not generator.gi_yieldfrom:
                raise _changeable(value, code)
        elif isinstance(value, type(iter(range(0)))):  # Python 3.11 tells a range and an index, others what is left
            parts: tuple[Any, ...] = tuple(value.__reduce__())
            yield ("iter", _plain(parts[1][0][parts[2] or 0 :], code))
        elif hasattr(value, "__next__"):
            kind, *rest = value.__reduce__()
            yield (kind.__name__, _plain(tuple(rest), code))


def _plain(value: Any, code: types.CodeType) -> Any:
    """A value whose `repr` is complete and never varies. Refuses mutable values."""
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
    raise _changeable(value, code)


def _changeable(value: Any, code: types.CodeType) -> ProtocolBug:
    return ProtocolBug(
        f"recipe {code.co_qualname} keeps {value!r} over a yield, which can change in place",
        hint="recipes keep tuples, frozensets and frozen structs",
    )
