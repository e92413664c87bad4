"""Replies of the gateway and of others, in every cut: read at once or byte by byte, with and without h11."""

from __future__ import annotations

import pytest

from vez.engines.etcd.http import Exchange, NotHttp

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
