"""The contract under Ctrl-C: an interrupted request leaves nothing behind, wherever the interrupt arrived.

The interpreter runs signal handlers when a function begins and after each call of a function written in C, so
`KeyboardInterrupt` can appear at those points. Each of them is tried, one after the other. Each is tried with and
without a reference to the grant and the exception. On an engine without a network this also covers a lost reply: the
caller never learns of the grant. A context manager written in Python cannot handle one point: the beginning of
`__exit__`, before its first line. There the grant is kept, and can be released by hand.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from vez.errors import LockTimeout
from vez.locks.engines.base import Kind
from vez.locks.turns.client import Client, Lock, connect
from vez.testing.conformance_base import Base, needs

_MOST = 5000
"""Largest number of points of a request; a request with more is in an endless loop."""
_PATIENCE = 20.0
"""Longest time in seconds for a request that nothing blocks."""


class _Strike:
    """Raises `KeyboardInterrupt` at the point with this number."""

    def __init__(self, point: int) -> None:
        self.left = point

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return") and not (event == "call" and frame.f_code.co_name == "__exit__"):
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def interrupted_at(point: int, work: Callable[[], object]) -> bool:
    """Run `work`, interrupted at one point. False if it has fewer points. The interpreter swallows an interrupt in a
    finaliser, as in any program, and the work continues."""
    strike = _Strike(point)
    try:
        sys.setprofile(strike)
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return strike.left < 0


class _Holder:
    """Another holder, in a thread that is not interrupted."""

    def __init__(self, url: str, elsewhere: ThreadPoolExecutor, request: Callable[[Client], Lock]) -> None:
        self._elsewhere = elsewhere
        self._client = connect(url)
        self._grant = elsewhere.submit(lambda: request(self._client).acquire()).result()

    def release(self) -> None:
        """Release; calling it twice is harmless."""
        strike = sys.getprofile()
        sys.setprofile(None)
        self._elsewhere.submit(self._grant.release).result()
        sys.setprofile(strike)

    def leave_soon(self) -> None:
        """Release after 2 ms; call it in the thread of the grant."""
        time.sleep(0.002)
        self._grant.release()

    def close(self) -> None:
        """Release and close the client."""
        self.release()
        self._client.close()


_each_kind = pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
_unseen = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class InterruptConformance(Base):
    """Interrupts at every point of a request, with and without a wait."""

    @pytest.fixture
    def url(self) -> str:
        """The engine under test."""
        raise NotImplementedError("give the suite a `url` fixture")

    @pytest.fixture
    def client(self, url: str) -> Iterator[Client]:
        """A client of the thread that is interrupted."""
        with connect(url) as made:
            yield made

    @pytest.fixture
    def elsewhere(self) -> Iterator[ThreadPoolExecutor]:
        """Another thread."""
        with ThreadPoolExecutor(1) as pool:
            yield pool

    @_each_kind
    @_unseen
    def test_at_every_point_of_a_turn(
        self, url: str, client: Client, elsewhere: ThreadPoolExecutor, kind: Kind
    ) -> None:
        def turn() -> None:
            with _request(client, kind):
                pass

        def once(point: int) -> bool:
            return interrupted_at(point, turn)

        self._try_all(url, elsewhere, kind, once)

    @_each_kind
    @_unseen
    def test_at_every_point_of_a_turn_whose_grant_is_kept(
        self, url: str, client: Client, elsewhere: ThreadPoolExecutor, kind: Kind
    ) -> None:
        kept: list[object] = []

        def turn() -> None:
            lock = _request(client, kind)
            kept[:] = [lock]
            try:
                with lock as grant:
                    kept.append(grant)
            except KeyboardInterrupt as error:
                kept.append(error)
                raise

        def once(point: int) -> bool:
            return interrupted_at(point, turn)

        self._try_all(url, elsewhere, kind, once)

    @needs("queue_visible")
    @_each_kind
    @_unseen
    def test_at_every_point_of_a_wait(
        self, url: str, client: Client, elsewhere: ThreadPoolExecutor, kind: Kind
    ) -> None:
        """The holder releases when the waiter first reports its position, so the waiter is granted if not
        interrupted."""

        def once(point: int) -> bool:
            holder = _Holder(url, elsewhere, lambda other: _request(other, kind))

            def turn() -> None:
                with _request(client, kind, on_wait=lambda place: holder.release()):
                    pass

            struck = interrupted_at(point, turn)
            holder.close()
            return struck

        self._try_all(url, elsewhere, kind, once)

    @_each_kind
    @_unseen
    def test_at_every_point_of_the_first_wait_of_a_thread(
        self, url: str, client: Client, elsewhere: ThreadPoolExecutor, kind: Kind
    ) -> None:
        """The holder releases after 2 ms. The interrupted thread can wait again: nothing that a thread creates for its
        first wait is left half done."""

        def turn() -> None:
            with _request(client, kind):
                pass

        def once(point: int) -> bool:
            holder = _Holder(url, elsewhere, lambda other: _request(other, kind))
            leaving = elsewhere.submit(holder.leave_soon)

            def both() -> bool:
                struck = interrupted_at(point, turn)
                leaving.result()
                again = _Holder(url, elsewhere, lambda other: _request(other, kind))
                elsewhere.submit(again.leave_soon)
                turn()
                again.close()
                return struck

            with ThreadPoolExecutor(1) as fresh:
                struck = fresh.submit(both).result()
            holder.close()
            return struck

        self._try_all(url, elsewhere, kind, once)

    @_each_kind
    @_unseen
    def test_at_every_point_of_a_wait_in_vain(
        self, url: str, client: Client, elsewhere: ThreadPoolExecutor, kind: Kind
    ) -> None:
        def turn() -> None:
            with suppress(LockTimeout), _request(client, kind, 0.002):
                raise AssertionError("granted while another held it")

        def once(point: int) -> bool:
            holder = _Holder(url, elsewhere, lambda other: _request(other, kind))
            struck = interrupted_at(point, turn)
            holder.close()
            return struck

        self._try_all(url, elsewhere, kind, once)

    def _try_all(self, url: str, elsewhere: ThreadPoolExecutor, kind: Kind, once: Callable[[int], bool]) -> None:
        assert not once(_MOST), f"a request with more than {_MOST} calls"
        for point in range(_MOST):
            if not once(point):
                break
            gc.collect(0)
            assert elsewhere.submit(_can_be_acquired, url, kind).result(), (
                f"interrupted at call {point}, it left the {kind} held"
            )
        assert point > 10, "nothing was interrupted"
        assert not once(_MOST), "the interrupted thread could not acquire it again"


def _request(client: Client, kind: Kind, timeout: float = _PATIENCE, **options: Any) -> Lock:
    if kind == "semaphore":
        return client.semaphore("interrupts", 1, timeout=timeout, **options)
    if kind == "election":
        return client.election("interrupts", timeout=timeout, **options)
    return client.lock("interrupts", timeout=timeout, **options)


def _can_be_acquired(url: str, kind: Kind) -> bool:
    """True if an interrupted request has left nothing behind. If a second interrupt stopped the clean-up, a background
    thread completes it, perhaps late on a busy machine. Without such a thread, the rest would stay for ever."""
    until = time.monotonic() + _PATIENCE
    with connect(url) as other, suppress(LockTimeout), _request(other, kind, _PATIENCE):
        while time.monotonic() < until:
            seen = other.inspect("interrupts", kind)
            if len(seen.holders) == 1 and not seen.queue:
                return True
            time.sleep(0.002)
    return False
