"""The common part of the conformance suites: the engine under test, its traits, and actors that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from vez.locks.engines import open_engine
from vez.locks.engines.base import Traits
from vez.testing.actors import Actor, AsyncActor, SyncActor

Make = Callable[[], Actor]
LONG_TIMEOUTS = (3e6, 3e9, 1e10, 1e18, 1e300, float("inf"), 10**400)
"""Timeouts in seconds. Python refuses a wait of a thread for 1e10, some systems a wait of a socket for 3e6; the last
one is too large for a float."""


def needs(*asked: str, **exactly: str) -> Callable[[Any], Any]:
    """Mark a test, or a class of tests, that needs traits which an engine may lack: fields of `Traits` that are neither
    False nor None, or that have exactly these values. A test with a parameter `kind` needs that kind."""
    return pytest.mark.vez_needs(*asked, **exactly)


def missing(traits: Traits, asked: Iterable[str], exactly: Mapping[str, str]) -> str | None:
    """The first needed trait that an engine lacks, in a sentence; None if it has all of them."""
    for name in asked:
        if getattr(traits, name) in (None, False):
            return f"the traits of this engine say: {name} is {getattr(traits, name)}"
    for name, value in exactly.items():
        if getattr(traits, name) != value:
            return f"the traits of this engine say: {name} is {getattr(traits, name)!r}, not {value!r}"
    return None


def assert_newer(traits: Traits, later: Any, earlier: Any) -> None:
    """Assert that the token of the later grant is higher, or that both are None if the engine gives no fencing."""
    if traits.token is None:
        assert (later.token, earlier.token) == (None, None)
    else:
        assert later.token > earlier.token


def marks_of(test: pytest.Function) -> list[pytest.Mark]:
    """The marks of a test, and those of the class that defines it.

    A suite inherits from several such classes, and pytest would apply the marks of each of them to the tests of all.
    """
    kind = test.cls
    if kind is None:
        return list(test.iter_markers("vez_needs"))
    home = next(one for one in kind.__mro__ if test.originalname in vars(one))
    marks = [*getattr(vars(home)[test.originalname], "pytestmark", ()), *vars(home).get("pytestmark", ())]
    return [mark for mark in marks if mark.name == "vez_needs"]


class Base:
    """The actors of a test, closed at its end."""

    @pytest.fixture
    def url(self) -> str:
        """The engine under test."""
        raise NotImplementedError("give the suite a `url` fixture")

    @pytest.fixture
    def traits(self, url: str) -> Traits:
        """The traits of the engine under test."""
        engine = open_engine(url)
        try:
            return engine.traits
        finally:
            engine.close()

    @pytest.fixture(autouse=True)
    def _skip_what_is_missing(self, request: pytest.FixtureRequest, traits: Traits) -> None:
        """Skip a test that needs a trait which the engine lacks."""
        callspec = getattr(request.node, "callspec", None)
        kind = None if callspec is None else callspec.params.get("kind")
        asked = [f"{kind}s"] if kind in ("lock", "semaphore", "election") else []
        exactly: dict[str, str] = {}
        for mark in marks_of(request.node):
            asked += mark.args
            exactly |= mark.kwargs
        if (why := missing(traits, asked, exactly)) is not None:
            pytest.skip(why)

    @pytest.fixture(params=["threads", "tasks", "mixed"])
    def actor(self, request: pytest.FixtureRequest, url: str) -> Iterator[Make]:
        """Makes actors: threads, tasks, or both alternately."""
        made: list[Actor] = []

        def make() -> Actor:
            kinds = {"threads": (SyncActor, SyncActor), "tasks": (AsyncActor, AsyncActor)}
            made.append(kinds.get(request.param, (SyncActor, AsyncActor))[len(made) % 2](url))
            return made[-1]

        yield make
        for one in made:
            one.close()
