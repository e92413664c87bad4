"""Initial process: builds the process that a `Started` event describes."""

from __future__ import annotations

import typing
from collections.abc import Collection
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


def initial(algorithm: Any, event: Started, given: dict[str, Any], own: dict[str, Any], *, lenient: bool) -> Process:
    """The process that started, with the parameters of the event. Its other fields follow from these, and from `own`,
    the initial fields that the header gives this process.

    `given` holds the parameters for a trace that records none. If `lenient`, the trace does not say how the processes
    started, or is of another algorithm: what the algorithm does not have is ignored, and fields are not compared.
    """
    values, parameters, defaults = dict(given), frozenset(marked(algorithm, PARAMETER)), _defaults(algorithm)
    if not lenient:
        _check_names(algorithm, "parameter", event.parameters, parameters)
        _check_names(algorithm, "field", event.fields, defaults.keys() - parameters)
    for name, value in event.parameters.items():
        if name in parameters and encoded(value) != defaults[name]:
            values[name] = _converted(algorithm, "parameter", name, value)
    for name, value in own.items():
        if name in defaults.keys() - parameters:
            values[name] = _converted(algorithm, "field", name, value)
        elif not lenient:
            raise CannotStart(f"a header whose initial fields are of {algorithm.__name__}", f"{name} = {value!r}")
    try:
        body: Process = algorithm(**values)
    except (TypeError, ValueError, VezError) as error:
        raise CannotStart("values with which it can start", str(error)) from error
    if not lenient:
        for name, value in plain_values({name: getattr(body, name) for name in event.fields}).items():
            if encoded(value) != encoded(event.fields[name]):
                raise CannotStart(f"it starts with {name} = {value!r}", f"{name} = {event.fields[name]!r}")
    return body


def _check_names(algorithm: type[Process], what: str, found: Collection[str], known: Collection[str]) -> None:
    """Raise `CannotStart` if the event does not name the parameters, or the other fields, of the algorithm."""
    extra, missing = sorted(set(found) - set(known)), sorted(set(known) - set(found))
    if missing:
        raise CannotStart(f"it starts with {what} {missing[0]}", f"no {what} {missing[0]}")
    if extra:
        raise CannotStart(f"a start: {algorithm.__name__} has no {what} {extra[0]}", f"{what} {extra[0]}")


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
