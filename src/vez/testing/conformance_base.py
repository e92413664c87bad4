"""What the conformance suites share: the engine under test, and actors that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from vez.testing.actors import Actor, AsyncActor, SyncActor

Make = Callable[[], Actor]


class Base:
    """The actors of a test, closed at its end."""

    @pytest.fixture
    def url(self) -> str:
        """The engine under test."""
        raise NotImplementedError("give the suite a `url` fixture")

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
