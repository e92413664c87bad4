"""The counter: an update that is a critical section, in a server."""

from __future__ import annotations

import threading

import pytest

from vez.servers.serving.counter import Counter

from .models import concurrent_model, every_model
from .parts import PATIENCE_S, Asking, ask, client, serving


class Posting(Asking):
    """A client that adds one."""

    def run(self) -> None:
        one = client(self._server)
        self.status, self.body = ask(one, "/counter", "POST")
        one.close()


@concurrent_model
def test_two_updates_that_read_the_same_number_lose_one(model: str) -> None:
    """Both have read before either writes: not a matter of luck."""
    both = threading.Barrier(2)

    def between() -> None:
        both.wait(PATIENCE_S)

    service = Counter(locked=False, between=between)
    with serving(model, service) as server:
        people = [Posting(server, "/counter") for _ in range(2)]
        assert [one.end() for one in people] == [(200, b"1\n")] * 2, "both are told that it is 1 now"
        assert service.number == 1


@every_model
def test_a_lock_or_a_single_thread_loses_nothing(model: str) -> None:
    inside: list[int] = []

    def between() -> None:
        inside.append(1)
        assert len(inside) == 1, "two are in the critical section"
        inside.pop()

    service = Counter(locked=model != "single", between=between)
    with serving(model, service, workers=8, stages=(2, 8, 2)) as server:
        people = [Posting(server, "/counter") for _ in range(20)]
        assert sorted(int(one.end()[1]) for one in people) == list(range(1, 21))
        assert service.number == 20
        one = client(server)
        assert ask(one, "/counter") == (200, b"20\n")
        assert ask(one, "/other")[0] == 404
        assert ask(one, "/counter", "DELETE")[0] == 405
        one.close()


@pytest.mark.parametrize("model", ["pool"])
def test_pages_of_a_browser_may_not_update(model: str) -> None:
    service = Counter(locked=True)
    with serving(model, service) as server:
        one = client(server)
        one.request("POST", "/counter", headers={"Origin": "http://evil.example"})
        assert one.getresponse().status == 403
        one.close()
        assert service.number == 0
