"""Fixtures for tests of programs that use vez: locks that are lost and leaders that are deposed on demand.

pytest loads this once vez is installed; vez itself is imported when a fixture is used.

    def test_backup_stops_when_the_lock_is_lost(vez_turns):
        backup = start_backup(vez_turns.url)
        vez_turns.lose("nightly")
        assert backup.stopped()
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vez.locks.turns.client import Client

_numbers = count(1)


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark with which the conformance suite says which traits a test needs."""
    config.addinivalue_line("markers", "vez_needs(*traits, **values): what the test asks of an engine (vez.testing)")


class Turns:
    """A `memory:` engine for one test."""

    def __init__(self, url: str, client: Client) -> None:
        self.url, self.client = url, client

    def lose(self, name: str, kind: str = "lock") -> None:
        """Take a lock or a permit from its holders, as a forced release or an expired lease would."""
        if self.client.break_lock(name, "lost on demand", kind) is None:  # type: ignore[arg-type]
            raise AssertionError(f"nobody holds {kind} {name!r}, so it cannot be lost")

    def depose(self, name: str) -> None:
        """Take the leadership from the leader."""
        self.lose(name, "election")

    @contextmanager
    def taken(self, name: str, *, shared: bool = False) -> Iterator[int]:
        """Let another thread hold the lock during the block; yields its token."""
        ready, done, tokens = threading.Event(), threading.Event(), list[int]()

        def hold() -> None:
            with self.client.lock(name, shared=shared, label="somebody else") as grant:
                tokens.append(grant.token)
                ready.set()
                done.wait()

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        ready.wait()
        try:
            yield tokens[0]
        finally:
            done.set()
            thread.join()


@pytest.fixture
def vez_turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[Turns]:
    """A `memory:` engine, which is also the default engine of `vez.lock` during the test."""
    from vez.locks.turns import client as clients

    url = f"memory:pytest-{next(_numbers)}"
    monkeypatch.setenv("VEZ_URL", url)
    monkeypatch.setattr(clients, "_default", None)
    with clients.connect(url) as client:
        yield Turns(url, client)
