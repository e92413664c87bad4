"""Replies of the gateway and of others, in every cut: read at once or byte by byte, with and without h11."""

from __future__ import annotations

import random
from itertools import pairwise

import h11
import pytest

from vez.locks.engines.etcd.http import Exchange, NotHttp

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n" + b'{"a": "b"}\n'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\ncd\r\n2\r\ne\n\r\n0\r\n\r\n"
CLOSING = b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"


def read(reply: bytes, step: int) -> Exchange:
    exchange = Exchange()
    sent = exchange.request("h:1", "/v3/kv/txn", b"{}", "a-token")
    assert sent.startswith(b"POST /v3/kv/txn HTTP/1.1\r\nHost: h:1\r\n")
    assert sent.endswith(b"Authorization: a-token\r\nContent-Length: 2\r\n\r\n{}")
    for start in range(0, len(reply), step):
        assert not exchange.ended
        exchange.feed(reply[start : start + step])
    return exchange


@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_reply_in_any_cut(step: int) -> None:
    plain = read(PLAIN, step)
    assert (plain.status, plain.ended, plain.body(), plain.reusable()) == (200, True, b'{"a": "b"}\n', True)
    chunked = read(CHUNKED, step)
    assert (chunked.ended, chunked.lines(), chunked.reusable()) == (True, [b"ab", b"cde"], True)
    closing = read(CLOSING, step)
    assert (closing.status, closing.body(), closing.reusable()) == (503, b"no", False)
    old = read(OLD, step)
    assert (old.body(), old.reusable()) == (b"ok", False)


@pytest.mark.parametrize("reply", [PLAIN, CHUNKED])
def test_a_connection_is_used_again(reply: bytes) -> None:
    exchange = read(reply, 10_000)
    assert exchange.reusable()
    exchange.request("h:1", "/", b"")
    assert exchange.status == 0
    exchange.feed(PLAIN)
    assert exchange.body() == b'{"a": "b"}\n'


@pytest.mark.parametrize(
    "reply",
    [
        b"SSH-2.0-OpenSSH\r\n",
        b"-ERR unknown command\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
    ],
)
def test_what_is_not_http(reply: bytes) -> None:
    exchange = Exchange()
    exchange.request("h:1", "/", b"")

    def feed() -> None:
        exchange.feed(reply)
        exchange.feed(b"")

    with pytest.raises(NotHttp):
        feed()


@pytest.mark.parametrize("length", range(1, len(PLAIN)))
def test_a_reply_that_is_cut_off_is_not_taken_for_a_whole_one(length: int) -> None:
    exchange = Exchange()
    exchange.request("h:1", "/", b"")
    exchange.feed(PLAIN[:length])
    assert not exchange.ended
    with pytest.raises(NotHttp, match="closed the connection"):
        exchange.feed(b"")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
UNUSUAL = [
    b"0\r\n\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"3;name=value\r\nabc\r\n",
    b"003\r\nabc\r\n",
    b"10000\r\n" + b"x" * 0x10000 + b"\r\n",
    b"2\r\nabc\r\n",
    b"3\nabc\n",
    b"-1\r\n",
    b"zz\r\n",
    b"\r\n",
    b"3 \r\nabc\r\n",
    b"ffffffffffffffffffff\r\n",
]


def by_h11(reply: bytes) -> tuple[str, bytes]:
    """Status and body of a reply, as parsed by h11 alone."""
    machine = h11.Connection(h11.CLIENT)
    machine.send(h11.Request(method="POST", target="/", headers=[("Host", "h"), ("Content-Length", "0")]))
    machine.send(h11.EndOfMessage())
    machine.receive_data(reply)
    body = b""
    try:
        while True:
            event = machine.next_event()
            if isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return "ended", body
            elif event is h11.NEED_DATA:
                return "more", body
    except h11.RemoteProtocolError:
        return "not HTTP", body


def by_us(reply: bytes, cuts: list[int]) -> tuple[str, bytes]:
    exchange = Exchange()
    exchange.request("h:1", "/", b"")
    try:
        for start, end in pairwise([0, *cuts, len(reply)]):
            if exchange.ended:
                break
            if start < end:
                exchange.feed(reply[start:end])
    except NotHttp:
        return "not HTTP", exchange.body()
    return ("ended" if exchange.ended else "more"), exchange.body()


def compare(chance: random.Random) -> None:
    chunks = [
        f"{size:x}\r\n".encode() + chance.randbytes(size) + b"\r\n"
        for size in (chance.choice([1, 2, 15, 16, 300]) for _ in range(chance.randrange(5)))
    ]
    if chance.random() < 0.7:
        chunks.insert(chance.randrange(len(chunks) + 1), chance.choice(UNUSUAL))
    reply = HEAD + b"".join(chunks)
    if chance.random() < 0.3:
        reply = reply[: chance.randrange(len(HEAD), len(reply) + 1)]
    expected, body = by_h11(reply)
    for count in (0, 1, 3, 20):
        cuts = sorted(chance.randrange(len(reply)) for _ in range(count))
        found, ours = by_us(reply, cuts)
        assert found == expected, (reply[:200], cuts)
        if expected == "ended":
            assert ours == body
        else:  # h11 hands out the part of a chunk that has come, and we may wait for the rest of it
            assert body.startswith(ours)


@pytest.mark.parametrize("seed", range(0, 400, 20))
def test_chunks_are_what_h11_says_they_are(seed: int) -> None:
    """Ordinary chunks, then perhaps something unusual or wrong, in random cuts."""
    for one in range(seed, seed + 20):
        compare(random.Random(one))


def test_chunks_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.locks.engines.etcd.http.LARGEST", 1000)
    exchange = Exchange()
    exchange.request("h:1", "/", b"")
    exchange.feed(HEAD)

    def feed() -> None:
        for _ in range(20):
            exchange.feed(b"64\r\n" + b"x" * 100 + b"\r\n")

    with pytest.raises(NotHttp, match="more than 1000 bytes"):
        feed()
