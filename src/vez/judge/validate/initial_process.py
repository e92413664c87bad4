"""Initial process: builds the process that a `Started` event describes."""

from __future__ import annotations

import typing
from functools import cache
from typing import Any

import msgspec

from vez.core.message import plain_values
from vez.core.process import PARAMETER, Process, marked, name_of
from vez.core.trace import Started
from vez.errors import BadData, UnknownName, VezError
from vez.judge.validate.context import encoded


class CannotStart(Exception):
    """No process of the algorithm can start with these values. It says what was expected and what was found."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected)
        self.expected = expected
        self.found = found


def initial(algorithm: Any, event: Started, given: dict[str, Any], *, lenient: bool) -> Process:
    """The process that started, with the values of the event.

    `given` holds the parameters for a trace that records none. If `lenient`, fields that the algorithm does not have
    are ignored, and fields that the event does not name get their defaults.
    """
    values: dict[str, Any] = dict(given)
    parameters = frozenset(marked(algorithm, PARAMETER))
    defaults = _defaults(algorithm)
    for what, found in (("parameter", event.parameters), ("field", event.fields)):
        known = [name for name in defaults if (name in parameters) == (what == "parameter")]
        if not lenient and set(found) != set(known):
            extra, missing = sorted(set(found) - set(known)), sorted(set(known) - set(found))
            name = (missing or extra)[0]
            raise CannotStart(
                f"it starts with {what} {name}" if missing else f"a start: {algorithm.__name__} has no {what} {name}",
                f"no {what} {name}" if missing else f"{name} = {found[name]!r}",
            )
        for name, value in found.items():
            if name in known and encoded(value) != defaults[name]:
                values[name] = _converted(algorithm, what, name, value)
    try:
        return algorithm(**values)  # type: ignore[no-any-return]
    except (TypeError, ValueError, VezError) as error:
        raise CannotStart("values with which it can start", str(error)) from error


def converted_parameters(algorithm: type[Process], given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that a user typed, converted to the types of the algorithm's fields."""
    values: dict[str, Any] = {}
    known = marked(algorithm, PARAMETER)
    for name, value in given.items():
        if name not in known:
            raise UnknownName(f"parameter of {name_of(algorithm)}", name, marked(algorithm, PARAMETER))
        try:
            values[name] = msgspec.convert(value, _hints(algorithm)[name], strict=not isinstance(value, str))
        except (msgspec.ValidationError, RecursionError) as error:
            raise BadData(f"parameter {name}: {error}") from error
    return values


@cache
def _defaults(algorithm: type[Process]) -> dict[str, bytes]:
    """The fields in the order of declaration, with their defaults in the encoding of a trace."""
    fresh = algorithm()
    plain = plain_values({name: getattr(fresh, name) for name in algorithm.__struct_fields__})
    return {name: encoded(value) for name, value in plain.items()}


@cache
def _hints(algorithm: type[Process]) -> dict[str, Any]:
    return typing.get_type_hints(algorithm)


def _converted(algorithm: type[Process], what: str, name: str, value: Any) -> Any:
    try:
        return msgspec.convert(value, _hints(algorithm)[name])
    except (msgspec.ValidationError, RecursionError) as error:
        raise CannotStart(f"{what} {name}: {error}", f"{name} = {value!r}") from error
    except TypeError as error:  # a union that msgspec cannot read back, such as tuple | frozenset
        raise CannotStart(f"{what} {name} with its default: other values cannot be read back", f"{value!r}") from error
