"""One suite over all models: right answers, in order where promised, under load, and a stop that loses nothing."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from vez.errors import EngineUnavailable, Misuse
from vez.servers.serving import Limits, make_server

from .models import concurrent_model, every_model
from .parts import PATIENCE_S, Asking, Doors, ask, client, get, raw, read_all, serving, wait_until


@every_model
def test_requests_are_answered_one_after_the_other_on_one_connection(model: str) -> None:
    with serving(model, Doors()) as server:
        one = client(server)
        assert [ask(one, f"/{number}") for number in range(5)] == [(200, b"/%d" % number) for number in range(5)]
        assert ask(one, "/body", "POST", b" and more") == (200, b"/body and more")
        one.close()
    assert (server.counts.accepted, server.counts.requests, server.counts.answered) == (1, 6, 6)


@every_model
def test_pipelined_requests_are_answered_in_order(model: str) -> None:
    requests = b"".join(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number for number in range(20))
    last = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with serving(model, Doors()) as server:
        found = raw(server, requests + last)
    bodies = [part.split(b"\r\n\r\n")[1] for part in found.split(b"HTTP/1.1 200 OK\r\n")[1:]]
    assert bodies == [*(b"/%d" % number for number in range(20)), b"/last"]


@every_model
def test_everybody_gets_their_own_answer_under_load(model: str) -> None:
    def many(name: int) -> list[tuple[int, bytes]]:
        one = client(server)
        try:
            return [ask(one, f"/{name}/{number}") for number in range(10)]
        finally:
            one.close()

    with serving(model, Doors()) as server, ThreadPoolExecutor(24) as people:
        found = list(people.map(many, range(24)))
    assert server.counts.answered == 240
    assert found == [[(200, b"/%d/%d" % (name, number)) for number in range(10)] for name in range(24)]


@every_model
def test_a_service_that_fails_or_refuses_harms_only_its_request(model: str) -> None:
    lines: list[str] = []
    with serving(model, Doors(), log=lines.append) as server:
        one = client(server)
        assert ask(one, "/raise") == (500, b"the service failed\n")
        assert ask(one, "/refuse") == (418, b"a teapot\n")
        assert ask(one, "/fine") == (200, b"/fine")
        one.close()
        assert server.counts.failed == 1
    assert any("ValueError: on purpose" in line and "parts.py" in line for line in lines)


@every_model
def test_an_answer_that_http_does_not_allow_costs_no_thread(model: str) -> None:
    lines: list[str] = []
    with serving(model, Doors(), log=lines.append, workers=2, stages=(1, 2, 1)) as server:
        get(server, "/warm")
        threads = server.threads
        for _ in range(5):
            with pytest.raises(OSError, match=r"closed|reset"):
                get(server, "/forbidden")
        assert get(server, "/fine") == (200, b"/fine")
        assert server.counts.failed == 5
        assert server.threads == threads or model == "thread-per-request"
    assert any("a connection failed: LocalProtocolError" in line for line in lines)


def test_single_serves_one_after_the_other() -> None:
    doors = Doors()
    with serving("single", doors) as server:
        first = Asking(server, "/door/a")
        doors.wait_inside(1)
        second = Asking(server, "/door/b")
        wait_until(lambda: server.counts.requests == 1)
        assert doors.inside == ["/door/a"], "the second request is not even read"
        doors.open("a", "b")
        assert (first.end(), second.end()) == ((200, b"/door/a"), (200, b"/door/b"))


@concurrent_model
def test_others_are_served_while_one_request_blocks(model: str) -> None:
    doors = Doors()
    with serving(model, doors) as server:
        slow = Asking(server, "/door/a")
        doors.wait_inside(1)
        assert get(server, "/quick") == (200, b"/quick")
        assert slow.is_alive()
        doors.open("a")
        assert slow.end() == (200, b"/door/a")


@every_model
def test_stop_while_busy_answers_what_has_arrived(model: str) -> None:
    doors = Doors()
    with serving(model, doors) as server:
        idle = client(server)
        ask(idle, "/hello")
        slow = Asking(server, "/door/a")
        doors.wait_inside(1)
        stopping = threading.Thread(target=server.stop, args=(20,), daemon=True)
        stopping.start()
        doors.open("a")
        assert slow.end() == (200, b"/door/a")
        stopping.join(20)
        assert not stopping.is_alive()
        assert server.stop() is True
        assert doors.closed
        assert (server.threads, server.connections) == (0, 0)
        with pytest.raises(OSError, match="refused"):
            get(server, "/late")
        idle.close()


@every_model
def test_stop_ends_as_soon_as_an_answer_was_taken(model: str) -> None:
    """A connection whose client is still reading when the server stops is not waited for any longer than it reads."""
    with serving(model, Doors(), limits=Limits(idle_s=9 * PATIENCE_S)) as server:
        reader = socket.create_connection(server.address, PATIENCE_S)
        reader.sendall(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
        found = len(reader.recv(1))
        stopping = threading.Thread(target=server.stop, args=(PATIENCE_S,), daemon=True)
        stopping.start()
        with reader:
            found += len(read_all(reader))
        stopping.join(2 * PATIENCE_S)
        assert server.stop() is True, "nothing had to be cut"
        assert found > 16 << 20


@every_model
def test_stop_cuts_what_does_not_end(model: str) -> None:
    doors = Doors()
    lines: list[str] = []
    with serving(model, doors, log=lines.append) as server:
        slow = Asking(server, "/door/a")
        doors.wait_inside(1)
        assert server.stop(0) is False
        with pytest.raises(OSError, match=r"closed|reset"):
            slow.end()
        doors.open("a")
        wait_until(lambda: server.threads == 0)
    assert any("cut what was not done after 0 s" in line for line in lines)
    assert [line.partition(": ")[2] for line in lines if "connection" in line] == ["cut 1 connection"]
    assert (server.counts.cut, server.counts.vanished) == (1, 0)


@every_model
def test_stop_counts_as_cut_only_who_was_asking(model: str) -> None:
    doors = Doors()
    with serving(model, doors) as server:
        idle = client(server)
        ask(idle, "/hello")
        wait_until(lambda: server.idle == 1)
        slow = Asking(server, "/door/a")
        doors.wait_inside(1)
        assert server.stop(0) is False
        with pytest.raises(OSError, match=r"closed|reset"):
            slow.end()
        doors.open("a")
        wait_until(lambda: server.threads == 0)
        assert (server.counts.accepted, server.counts.cut, server.counts.vanished) == (2, 1, 0)
        idle.close()


@every_model
def test_stop_answers_one_request_of_each_connection(model: str) -> None:
    """What a client has sent behind it is not answered: the answer says that the connection ends."""
    doors = Doors()
    with serving(model, doors) as server:
        asking = socket.create_connection(server.address, PATIENCE_S)
        request = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
        asking.sendall(request % b"/door/a" + request % b"/behind")
        doors.wait_inside(1)
        stopping = threading.Thread(target=server.stop, args=(PATIENCE_S,), daemon=True)
        stopping.start()
        wait_until(lambda: server._stopping)
        doors.open("a")
        with asking:
            found = read_all(asking)
        stopping.join(2 * PATIENCE_S)
        assert found.count(b"HTTP/1.1 200") == 1
        assert b"connection: close" in found.lower()
        assert b"/behind" not in found
        assert (server.counts.answered, server.counts.cut, server.counts.vanished) == (1, 0, 0)


@every_model
def test_servers_listen_on_loopback_only(model: str) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):  # noqa: S104
        server = make_server(model, Doors())
        with pytest.raises(Misuse, match="not a loopback address"):
            server.start(host)
        assert server.stop()


@every_model
def test_a_port_that_is_taken_is_said_in_one_line(model: str) -> None:
    with serving(model, Doors()) as server:
        with pytest.raises(EngineUnavailable, match="Address already in use"):
            make_server(model, Doors()).start(port=server.address[1])
        with pytest.raises(Misuse, match="started before"):
            server.start()
