"""Fixtures for programs that use vez: locks that get lost and leaders that are deposed on demand.

pytest finds this by itself once vez is installed; nothing is imported until a fixture is used.

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
    from vez.turns.client import Client

_numbers = count(1)


class Turns:
    """A `memory:` engine of the test's own."""

    def __init__(self, url: str, client: Client) -> None:
        self.url, self.client = url, client

    def lose(self, name: str, kind: str = "lock") -> None:
        """Take a lock or a permit from whoever holds it, as a break or an expired lease would."""
        if self.client.break_lock(name, "lost on demand", kind) is None:  # type: ignore[arg-type]
            raise AssertionError(f"nobody holds {kind} {name!r}, so it cannot be lost")

    def depose(self, name: str) -> None:
        """Take a leadership from the leader."""
        self.lose(name, "election")

    @contextmanager
    def taken(self, name: str, *, shared: bool = False) -> Iterator[int]:
        """Somebody else holds the lock for the duration of the block; the token."""
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
    """An engine in memory, which is also the default one of `vez.lock` during the test."""
    from vez.turns import client as clients

    url = f"memory:pytest-{next(_numbers)}"
    monkeypatch.setenv("VEZ_URL", url)
    monkeypatch.setattr(clients, "_default", None)
    with clients.connect(url) as client:
        yield Turns(url, client)
