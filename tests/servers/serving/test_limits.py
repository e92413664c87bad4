"""Limits: full queues, slow and vanished clients, sizes, rates, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from vez.servers.serving import Limits
from vez.servers.serving.limits import Rate
from vez.servers.serving.log import LINES_A_SECOND, Log
from vez.servers.serving.recording import Phase, Recorder
from vez.servers.serving.stage import Size, Stage

from .models import concurrent_model, every_model
from .parts import PATIENCE_S, Asking, Doors, ask, client, get, raw, read_all, serving, wait_until

WAITS = ("put", "acquire")
"""Functions in which a thread waits for room: of a stage, and of a semaphore."""
HEAD = b"GET /%b HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("model", ["pool", "staged", "loop", "thread-per-request"])
def test_a_full_server_refuses_if_asked_to(model: str) -> None:
    """One request is being decided, the others fill the queues of the model, and one more client is refused at once."""
    doors = Doors()
    sizes: dict[str, Any] = {"workers": 1, "queue": 1, "most_threads": 1, "stages": (1, 1, 1), "refuse_when_full": True}
    with serving(model, doors, **sizes) as made:
        server: Any = made
        fills: dict[str, list[Callable[[], bool]]] = {
            "pool": [lambda: server.stage.waiting == 1],
            "loop": [lambda: server.stage.waiting == 1],
            "staged": [  # in the queue of decide, in the hands of the reader, in the queue of receive
                lambda: server.stages[1].waiting == 1,
                lambda: server.counts.requests == 3,
                lambda: server.stages[0].waiting == 1,
            ],
            "thread-per-request": [],
        }
        busy = [Asking(server, "/door/a")]
        doors.wait_inside(1)
        for number, is_there in enumerate(fills[model]):
            busy.append(Asking(server, f"/door/{number}"))
            wait_until(is_there)
        assert get(server, "/quick") == (503, b"the server is loaded\n")
        doors.open("a", "0", "1", "2")
        assert [one.end()[0] for one in busy] == [200] * len(busy)
        wait_until(lambda: get(server, "/quick") == (200, b"/quick"))
        assert server.counts.refused >= 1


def is_blocked(name: str) -> bool:
    """True if the thread of this name waits for room for a request."""
    (thread,) = (one for one in threading.enumerate() if one.name == name)
    frame = sys._current_frames().get(thread.ident or 0)
    return bool(frame and frame.f_back and frame.f_code.co_name == "wait" and frame.f_back.f_code.co_name in WAITS)


@pytest.mark.parametrize("model", ["pool", "thread-per-request"])
def test_a_full_queue_blocks_the_acceptor(model: str) -> None:
    """As in the text: nobody is refused, new connections wait, and all are answered in the end."""
    doors, recorder = Doors(), Recorder()
    with serving(model, doors, workers=1, queue=1, most_threads=2, recorder=recorder) as server:
        busy = [Asking(server, f"/door/{number}") for number in range(6)]
        doors.wait_inside(1 if model == "pool" else 2)
        late = client(server)  # the kernel accepts it, the server does not
        late.connect()
        wait_until(partial(is_blocked, "acceptor"))
        assert server.counts.requests <= 2
        doors.open(*map(str, range(6)))
        assert sorted(one.end()[0] for one in busy) == [200] * 6
        assert ask(late, "/quick") == (200, b"/quick")
        late.close()
    assert server.counts.refused == 0
    assert any(span.phase is Phase.BLOCKED and span.lane == "acceptor" for span in recorder.spans)


def test_a_full_stage_holds_back_the_stage_before_it() -> None:
    doors, recorder = Doors(), Recorder()
    with serving("staged", doors, stages=(1, 1, 1), queue=1, recorder=recorder) as server:
        busy = [Asking(server, f"/door/{number}") for number in range(5)]
        doors.wait_inside(1)
        # Decided, queued, and in the hands of the blocked reader. It is also blocked, with the second request, for the
        # moment in which the first one is still in the queue.
        wait_until(lambda: server.counts.requests == 3 and is_blocked("receive 1"))
        doors.open(*map(str, range(5)))
        assert [one.end()[0] for one in busy] == [200] * 5
    assert any(span.phase is Phase.BLOCKED and span.lane == "receive 1" for span in recorder.spans)


def test_a_loop_whose_pool_is_full_still_answers_what_it_knows() -> None:
    class Knowing(Doors):
        def at_once(self, question: str) -> str | None:
            return question if question == "/known" else None

    doors = Knowing()
    with serving("loop", doors, workers=1, queue=1) as server:
        busy = [Asking(server, f"/door/{number}") for number in range(4)]
        wait_until(lambda: server.counts.requests == 4)
        assert get(server, "/known") == (200, b"/known")
        doors.open(*map(str, range(4)))
        assert [one.end()[0] for one in busy] == [200] * 4


@pytest.mark.parametrize("model", ["pool", "loop"])
def test_a_pool_grows_and_shrinks_between_its_bounds(model: str) -> None:
    doors = Doors()
    with serving(model, doors, workers=1, most_workers=3, queue=8, idle_s=0.05) as server:
        before = server.threads
        busy = [Asking(server, f"/door/{number}") for number in range(5)]
        doors.wait_inside(3)
        assert server.threads == before + 2, "three workers, and no more"
        doors.open(*map(str, range(5)))
        assert [one.end()[0] for one in busy] == [200] * 5
        wait_until(lambda: server.threads == before)
        assert get(server, "/after") == (200, b"/after")


def test_an_idle_thread_keeps_nothing_of_its_last_task() -> None:
    """A task has its answer, which may be large: an idle server must not hold one for each of its threads."""
    done = threading.Event()
    stage = Stage[threading.Event]("worker", Size(1, 1, 1), lambda task: done.set())
    stage.start()
    task = threading.Event()
    kept = weakref.ref(task)
    assert stage.put(task)
    del task
    assert done.wait(PATIENCE_S)
    wait_until(lambda: kept() is None)
    stage.close()
    assert stage.join(time.monotonic() + PATIENCE_S)


@every_model
def test_a_request_that_comes_byte_by_byte_is_cut_in_time(model: str) -> None:
    lines: list[str] = []
    with serving(model, Doors(), limits=Limits(request_s=0.3), log=lines.append) as server:
        with socket.create_connection(server.address, PATIENCE_S) as plug:
            stop = threading.Event()
            for byte in HEAD % b"slow" * 20:
                try:
                    plug.sendall(bytes([byte]) if byte != 13 else b"x")  # the head never ends
                except OSError:
                    break
                if server.counts.slow or stop.wait(0.02):
                    break
            wait_until(lambda: server.counts.slow == 1)
        assert get(server, "/fine") == (200, b"/fine")
    assert any("too slow" in line for line in lines)


@concurrent_model
def test_a_slow_client_does_not_stop_the_others(model: str) -> None:
    with serving(model, Doors(), stages=(2, 2, 2)) as server, socket.create_connection(server.address) as plug:
        plug.sendall(b"GET /half HT")
        wait_until(lambda: server.connections == 1)
        assert [get(server, f"/{number}")[0] for number in range(5)] == [200] * 5
        plug.sendall(b"TP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert read_all(plug).endswith(b"/half")


@every_model
def test_a_connection_that_says_nothing_blocks_nobody_and_is_closed(model: str) -> None:
    with serving(model, Doors(), limits=Limits(idle_s=0.3)) as server, socket.create_connection(server.address) as plug:
        assert get(server, "/others") == (200, b"/others")
        plug.settimeout(PATIENCE_S)
        assert plug.recv(1) == b""
        assert server.counts.slow == 0


@every_model
def test_an_answer_that_nobody_takes_is_cut_in_time(model: str) -> None:
    with serving(model, Doors(), limits=Limits(answer_s=0.3)) as server:
        with socket.create_connection(server.address) as plug:
            plug.sendall(HEAD % b"big")
            wait_until(lambda: server.counts.slow == 1)
        assert get(server, "/fine") == (200, b"/fine")


@every_model
def test_a_client_that_takes_a_large_answer_slowly_gets_it_whole(model: str) -> None:
    with serving(model, Doors()) as server, socket.create_connection(server.address, PATIENCE_S) as plug:
        plug.sendall(b"GET /big HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert len(read_all(plug).split(b"\r\n\r\n", 1)[1]) == 16 << 20


@every_model
def test_clients_that_vanish_are_forgotten(model: str) -> None:
    doors = Doors()
    with serving(model, doors) as server:
        with socket.create_connection(server.address) as plug:
            plug.sendall(b"GET /half HT")
        wait_until(lambda: server.counts.vanished == 1)
        plug = socket.create_connection(server.address)
        plug.sendall(HEAD % b"door/a")
        doors.wait_inside(1)
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        plug.close()  # with a reset, while the request is decided
        doors.open("a")
        assert get(server, "/fine") == (200, b"/fine")
        wait_until(lambda: server.connections == 0)


@every_model
def test_a_client_that_only_closed_its_half_gets_its_answer(model: str) -> None:
    doors = Doors()
    with serving(model, doors) as server, socket.create_connection(server.address, PATIENCE_S) as plug:
        plug.sendall(HEAD % b"door/a")
        doors.wait_inside(1)
        plug.shutdown(socket.SHUT_WR)
        doors.open("a")
        assert read_all(plug).endswith(b"/door/a")


@every_model
def test_at_the_limit_of_connections_the_longest_idle_one_makes_room(model: str) -> None:
    with serving(model, Doors(), limits=Limits(connections=3)) as server:
        people = [client(server) for _ in range(4)]
        for number, one in enumerate(people):
            assert ask(one, f"/{number}") == (200, b"/%d" % number)
            wait_until(partial(lambda wanted: server.idle == wanted, min(number + 1, 3)))
        wait_until(lambda: server.counts.evicted == 1)
        assert people[0].sock is not None
        assert people[0].sock.recv(1) == b""
        assert ask(people[3], "/again") == (200, b"/again")
        for one in people:
            one.close()


@concurrent_model
def test_a_full_server_accepts_again_once_a_connection_is_idle(model: str) -> None:
    """No client has to leave: a connection can be closed to make room as soon as its request is answered."""
    doors = Doors()
    lines: list[str] = []
    with serving(model, doors, limits=Limits(connections=2, idle_s=9 * PATIENCE_S), log=lines.append) as server:
        kept = [client(server) for _ in range(2)]
        for number, one in enumerate(kept):
            one.request("GET", f"/door/{number}")
        doors.wait_inside(2)
        with socket.create_connection(server.address, PATIENCE_S) as late:
            late.sendall(HEAD % b"late")
            wait_until(lambda: any("nobody is accepted" in line for line in lines))
            doors.open("0", "1")
            assert [one.getresponse().read() for one in kept] == [b"/door/0", b"/door/1"]
            assert late.recv(100).startswith(b"HTTP/1.1 200")
        for one in kept:
            one.close()


@every_model
def test_many_that_come_at_once_make_no_more_connections_than_allowed(model: str) -> None:
    with serving(model, Doors(), limits=Limits(connections=4)) as server, contextlib.ExitStack() as stack:
        plugs = [stack.enter_context(socket.create_connection(server.address, PATIENCE_S)) for _ in range(30)]
        wait_until(lambda: server.counts.evicted >= 26)
        assert server.counts.evicted == 26
        wait_until(lambda: server.connections == 4)
        for plug in plugs[-4:]:  # the last clients are still connected
            plug.sendall(HEAD % b"here")
            assert plug.recv(100).startswith(b"HTTP/1.1 200")


def test_a_connection_of_the_loop_counts_once_while_it_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio tells the protocol that it is connected, and only then ends the call that connects it."""
    hand_over, ended = asyncio.BaseEventLoop.connect_accepted_socket, asyncio.Event()

    async def slow(self: Any, *arguments: Any) -> Any:
        done = await hand_over(self, *arguments)
        await ended.wait()
        return done

    monkeypatch.setattr(asyncio.BaseEventLoop, "connect_accepted_socket", slow)
    with serving("loop", Doors(), limits=Limits(connections=4)) as made, contextlib.ExitStack() as stack:
        server: Any = made
        for _ in range(4):
            stack.enter_context(socket.create_connection(server.address, PATIENCE_S))
        wait_until(lambda: server.counts.evicted or server.connections == 4)
        server.loop.call_soon_threadsafe(ended.set)
        assert (server.counts.evicted, server.connections) == (0, 4)


@every_model
def test_too_many_requests_of_one_address_are_told_so(model: str) -> None:
    with serving(model, Doors(), limits=Limits(requests_a_second=0.001)) as server:
        one = client(server)
        assert ask(one, "/first")[0] == 200
        assert ask(one, "/second") == (429, b"too many requests\n")
        one.close()
        assert server.counts.limited == 1


def test_a_rate_allows_a_burst_of_a_second_and_then_the_average() -> None:
    rate = Rate(3, most=2)
    assert [rate.allows("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert [rate.allows("a", 0.4), rate.allows("a", 0.4)] == [True, False]
    assert rate.allows("b", 0.4)
    assert rate.allows("c", 0.4)  # "a" is forgotten: at most two are kept
    assert rate.allows("a", 0.4)


@every_model
def test_nothing_is_left_behind(model: str) -> None:
    def open_files() -> list[str]:
        gc.collect()
        return os.listdir("/proc/self/fd")

    with serving(model, Doors()) as server:
        get(server, "/warm")
    before, threads = len(open_files()), threading.active_count()
    for _ in range(3):
        with serving(model, Doors()) as server:
            one = client(server)
            ask(one, "/kept")
            raw(server, b"nonsense\r\n\r\n")
            with socket.create_connection(server.address) as plug:
                plug.sendall(b"GET /half")
            server.stop()
            one.close()
    assert len(open_files()) == before
    assert threading.active_count() == threads


def test_a_log_has_a_limit_and_says_what_it_left_out() -> None:
    lines: list[str] = []
    log = Log("pages", lines.append)
    for number in range(500):
        log.line(f"line {number} of a client: \x1b[2J")
    log.line("stopped", always=True)
    assert len(lines) <= 2 * LINES_A_SECOND + 1, "the second may change in the middle"
    assert "lines were left out before this one)" in lines[-1]
    assert "stopped" in lines[-1]
    assert "\x1b" not in "".join(lines)
