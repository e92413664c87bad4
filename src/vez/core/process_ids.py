"""Process identifiers: the type of fields that hold them, and their mark in a text, so that pictures can show names.

A number does not say whether it is a process, a timestamp or a term. So the class declares it: a field of type
`ProcessId` holds an identifier, and `named` marks one in a text. Worlds record where they are; a picture of a run whose
scenario gives names shows the names there. Nothing else depends on it.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Union

import msgspec


class _Identifier(msgspec.Struct, frozen=True):
    pass


IDENTIFIER = _Identifier()
ProcessId = Annotated[int, IDENTIFIER]
"""The type of a field that holds the identifier of a process; also inside, as in `tuple[ProcessId, ...]`."""

OPEN, CLOSE = "\u2068", "\u2069"
"""Unicode's marks around a name in a text (FIRST STRONG ISOLATE, POP DIRECTIONAL ISOLATE); both are invisible."""
_MARKED = re.compile(f"{OPEN}(-?[0-9]+){CLOSE}")
_NUMBER = re.compile("0|-?[1-9][0-9]{0,18}")
Place = tuple[int, int]
"""Start and end of an identifier in a text."""
EACH = "*"
"""The part of a path that stands for every item of a tuple or a set."""


def named(process: int) -> str:
    """The identifier of a process for `status()` or `io.note()`. Pictures show the name that the scenario gives it."""
    return f"{OPEN}{process}{CLOSE}"


def unmarked(text: str) -> tuple[str, tuple[Place, ...]]:
    """The text without the marks of `named`, and the places of its identifiers."""
    if OPEN not in text:
        return text, ()
    plain, *rest = _MARKED.split(text)
    places: list[Place] = []
    for identifier, after in zip(rest[::2], rest[1::2], strict=True):
        places.append((len(plain), len(plain) + len(identifier)))
        plain += identifier + after
    return plain, tuple(places)


def pieces(text: str, places: Sequence[Place]) -> Iterator[str | int]:
    """A text in order: identifiers as numbers, what is between them as text. Places without a number are ignored, and
    places outside the text, which a trace from elsewhere may have."""
    done = 0
    for start, end in places:
        if done <= start < end <= len(text) and _NUMBER.fullmatch(text, start, end):
            yield text[done:start]
            yield int(text[start:end])
            done = end
    yield text[done:]


@cache
def identifier_paths(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The paths of the identifiers in a class of messages: `leader`, `queue.*`, `waiting.*.1`."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(dict.fromkeys(path for name in kind.__struct_fields__ for path in _paths(hints[name], name)))


def _paths(hint: Any, path: str) -> Iterator[str]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        yield from [path] if IDENTIFIER in hint.__metadata__ else _paths(arguments[0], path)
    elif origin in (Union, types.UnionType):
        for part in arguments:
            yield from _paths(part, path)
    elif origin is frozenset or (origin is tuple and arguments[-1] is Ellipsis):
        yield from _paths(arguments[0], f"{path}.{EACH}")
    elif origin is tuple:
        for place, part in enumerate(arguments):
            yield from _paths(part, f"{path}.{place}")
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield from (f"{path}.{inner}" for inner in identifier_paths(hint))


def with_names(fields: Mapping[str, Any], paths: Sequence[str], names: Mapping[int, str]) -> dict[str, Any]:
    """The fields of a message with names instead of the identifiers on the paths."""
    found: Any = dict(fields)
    for path in paths if names else ():
        found = _replaced(found, path.split("."), names)
    return dict(found)


def _replaced(value: Any, path: Sequence[str], names: Mapping[int, str]) -> Any:
    if not path:
        return names.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value
    first, *rest = path
    if isinstance(value, list | tuple):
        return [
            _replaced(item, rest, names) if first in (EACH, str(place)) else item for place, item in enumerate(value)
        ]
    if isinstance(value, Mapping) and first in value:
        return {**value, first: _replaced(value[first], rest, names)}
    return value
