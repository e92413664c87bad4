"""Errors can be pickled: the error of a worker process reaches its parent unchanged."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from vez.errors import BadData, UnknownName, VezError


def kinds(base: type[VezError] = VezError) -> Iterator[type[VezError]]:
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_error_can_be_pickled(kind: type[VezError]) -> None:
    error = UnknownName("color", "gren", ["red", "green"]) if kind is UnknownName else kind("what", hint="do this")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own, made on the line
    assert type(copy) is kind
    assert (str(copy), copy.message, copy.hint, vars(copy)) == (str(error), error.message, error.hint, vars(error))


def test_a_changed_message_travels_too() -> None:
    error = BadData("x is bad", hint="mend it")
    error.args = (f"line 3: {error.message}",)
    assert str(pickle.loads(pickle.dumps(error))) == "line 3: x is bad (mend it)"  # noqa: S301
