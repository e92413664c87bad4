"""HTTP: malformed requests are refused, in whatever pieces they arrive; cached results equal those of h11."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vez.servers.serving import Answer, Limits, Request
from vez.servers.serving.conversation import Conversation, Memory
from vez.servers.serving.http import BadRequest, HttpConversation, Vanished

from .models import every_model
from .parts import Doors, raw, serving

HOST = b"Host: localhost\r\n"
MALFORMED = {
    "not HTTP": (b"nonsense\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50 + b"\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
    "a tunnel": (b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "another host": (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
    "a space before the colon": (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length : 3\r\n\r\nabc", 400),
    "a control character": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\0b\r\n\r\n", 400),
    "a carriage return in a value": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\rb\r\n\r\n", 400),
    "head too large": (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * 60_000 + b"\r\n\r\n", 431),
    "body too large": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 2000000\r\n\r\n", 413),
    "chunks too large": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b"z" * 0x8000 + b"\r\n",
        413,
    ),
    "length beside chunks": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "two lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", 400),
    "a negative length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -4\r\n\r\n", 400),
    "a length with a plus": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +4\r\n\r\nabcd", 400),
    "chunked twice": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        501,
    ),
    "another coding": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    "a chunk that is no number": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
        400,
    ),
    "a chunk that ends too late": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabcd0\r\n\r\n",
        400,
    ),
}


@every_model
@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_malformed_is_refused_and_ends_the_connection(model: str, what: str) -> None:
    data, status = MALFORMED[what]
    with serving(model, Doors(), limits=Limits(body_bytes=20_000)) as server:
        found = raw(server, data + b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n")
        assert found.startswith(b"HTTP/1.1 %d " % status)
        assert b"connection: close" in found.lower()
        assert found.count(b"HTTP/1.1 ") == 1, "nothing after it is taken for a request"
        assert server.counts.malformed == 1
        assert not re.search(rb"bytearray|\bb['\"]", found), "no Python in what a client reads"
        assert raw(server, b"GET /fine HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\n/fine")


@every_model
def test_what_is_malformed_is_refused_without_a_body_if_head_asks(model: str) -> None:
    """The method of the request that is answered counts, not that of the one before it on the same connection."""
    head = b"HEAD / HTTP/1.1\r\n" + HOST
    malformed = {
        b"HEAD / HTTP/1.1\r\nHost: evil.example\r\n\r\n": 421,
        head + b"Content-Length: 2000000\r\n\r\n": 413,
        head + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
        head + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n": 400,
    }
    with serving(model, Doors(), limits=Limits(body_bytes=20_000)) as server:
        for data, status in malformed.items():
            found = raw(server, data)
            assert found.startswith(b"HTTP/1.1 %d " % status), data
            assert found.endswith(b"\r\n\r\n")
            assert b"Content-Length: 0\r\n" not in found
        for what in ("another host", "not HTTP"):
            data, status = MALFORMED[what]
            first, text = raw(server, head + b"X: another\r\n\r\n" + data).split(b"HTTP/1.1 %d " % status)
            assert first.startswith(b"HTTP/1.1 200 OK")
            assert not text.endswith(b"\r\n\r\n")
        assert server.counts.failed == 0


@every_model
def test_bodies_versions_and_heads(model: str) -> None:
    with serving(model, Doors()) as server:
        close = b"Connection: close\r\n"
        chunks = b"POST /c HTTP/1.1\r\n" + HOST + close + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        assert raw(server, chunks).endswith(b"\r\n\r\n/cabc")
        found = raw(server, b"GET /old HTTP/1.0\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Connection: close" in found
        found = raw(server, b"HEAD /head HTTP/1.1\r\n" + HOST + close + b"\r\n")
        assert b"Content-Length: 5\r\n" in found
        assert found.endswith(b"\r\n\r\n")
        asks = b"POST /e HTTP/1.1\r\n" + HOST + close + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        found = raw(server, asks, b"ok")
        assert found.startswith((b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", b"HTTP/1.1 200 OK"))
        assert found.endswith(b"/eok")


@every_model
def test_a_target_may_be_a_whole_address_as_proxies_are_sent(model: str) -> None:
    """RFC 9112, 3.2.2: a server accepts it, and the host in it counts instead of the header."""
    asked = {
        b"http://localhost/a?b=c": b"/a?b=c",
        b"HTTP://127.0.0.1:8000/a": b"/a",
        b"http://[::1]": b"/",
        b"http://localhost?b": b"/?b",
    }
    misdirected = (b"http://evil.example/a", b"https://localhost/a", b"http://localhost@evil.example/", b"http:///a")
    close = b"Connection: close\r\n"
    with serving(model, Doors()) as server:
        for target, path in asked.items():
            for host in (HOST, b"Host: evil.example\r\n"):
                found = raw(server, b"GET " + target + b" HTTP/1.1\r\n" + host + close + b"\r\n")
                assert found.startswith(b"HTTP/1.1 200 OK\r\n"), target
                assert found.endswith(b"\r\n\r\n" + path)
        assert raw(server, b"GET http://localhost/old HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\n/old")
        for target in misdirected:
            assert raw(server, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n").startswith(b"HTTP/1.1 421 "), (
                target
            )


def requests() -> st.SearchStrategy[bytes]:
    """Requests that are well formed, with and without bodies, some of them equal."""
    target = st.sampled_from([b"/", b"/a", b"/b?c=d"])
    plain = st.builds(
        lambda t, m: m + b" " + t + b" HTTP/1.1\r\n" + HOST + b"\r\n", target, st.sampled_from([b"GET", b"HEAD"])
    )
    body = st.binary(max_size=20)
    post = st.builds(
        lambda t, b: b"POST " + t + b" HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(b) + b, target, body
    )
    chunked = st.builds(
        lambda t, b: (
            b"POST " + t + b" HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
            + (b"%x\r\n%b\r\n" % (len(b), b) if b else b"") + b"0\r\n\r\n"
        ),
        target, body,
    )  # fmt: skip
    return st.one_of(plain, plain, post, chunked)


def talk(
    conversation: Conversation | HttpConversation, pieces: list[bytes], close_at: int
) -> tuple[list[Request], bytes]:
    """All requests, and all answers, without dates."""
    found: list[Request] = []
    said = b""
    for piece in pieces:
        if conversation.over:
            break
        conversation.receive(piece)
        while not conversation.over and (request := conversation.next_request()) is not None:
            found.append(request)
            said += conversation.reply(Answer(body=request.target.encode()), close=len(found) == close_at)
    return found, re.sub(rb"Date: [^\r]*", b"Date", said)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [piece for first, last in pairwise(edges) if (piece := data[first:last])]


@settings(max_examples=100)
@given(
    st.lists(requests(), min_size=1, max_size=8),
    st.lists(st.integers(0, 2000), max_size=12),
    st.integers(1, 9),
    st.booleans(),
)
def test_what_is_remembered_is_what_h11_says(sent: list[bytes], places: list[int], close_at: int, whole: bool) -> None:
    """Whole requests, which are cached, and any other pieces; with a cache that has seen them and with an empty one."""
    pieces = sent if whole else cut(b"".join(sent), places)
    plain = talk(HttpConversation(Limits()), pieces, close_at)
    memory = Memory()
    for _ in range(2):
        assert talk(Conversation(Limits(), memory), pieces, close_at) == plain
    assert len(plain[0]) == min(len(sent), close_at)
    assert not any(request.body for request in memory.requests.values())
    if whole and close_at > len(sent):
        assert {one for one in sent if not one.startswith(b"POST")} <= memory.requests.keys()


FIRST_LINES = (
    b"GET / HTTP/1.1", b"GET /a?b=c HTTP/1.1", b"HEAD /a HTTP/1.1", b"GET //x/../%2e#~ HTTP/1.1", b"GET / HTTP/1.0",
    b"get / HTTP/1.1", b"GETS / HTTP/1.1", b"POST / HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT localhost:1 HTTP/1.1",
    b"GET http://localhost/a HTTP/1.1", b"GET http://evil.example/ HTTP/1.1", b"GET / HTTP/1.1 ", b"GET  / HTTP/1.1",
    b"GET / HTTP/2.0", b"GET / http/1.1", b"GET /\x7f HTTP/1.1", b"GET /\xff HTTP/1.1", b"GET /\0 HTTP/1.1", b"GET /\t HTTP/1.1",
    b"GET / HTTP/1.1\r", b"\r\nGET / HTTP/1.1", b"GET / HTTP/1.1\nX: y", b"GET / HTTP/1.1\r\nX: y", b"nonsense", b"",
)  # fmt: skip
HEADER_LINES = (
    b"Host: localhost", b"host:127.0.0.1:80", b"Host: evil.example", b"Accept: */*", b"Connection: close", b"Connection: x",
    b"Expect: 100-continue", b"Content-Length: 0", b"Content-Length: 2", b"Transfer-Encoding: chunked", b"Upgrade: x", b"Bad : x", b"X: \0",
)  # fmt: skip


def asked_once(conversation: Conversation | HttpConversation, data: bytes) -> tuple[object, ...]:
    """The outcome of a connection to which these bytes are sent at once."""
    conversation.receive(data)
    request = None
    try:
        request = conversation.next_request()
        said = b"" if request is None else conversation.reply(Answer(body=b"a page"))
    except BadRequest as bad:
        said = conversation.reply(bad.answer)
    except Vanished:
        said = b"vanished"
    words = re.sub(rb"Date: [^\r]*", b"Date", said)
    return request, words, conversation.over, conversation.asks_to_continue, conversation.has_begun


@settings(max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda line, headers, end: line + end + b"".join(one + end for one in headers) + end,
            st.sampled_from(FIRST_LINES),
            st.lists(st.sampled_from(HEADER_LINES), max_size=3).map(lambda more: [HEADER_LINES[0], *more])
            | st.lists(st.sampled_from(HEADER_LINES), max_size=3),
            st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n"]),
        ),
        min_size=2,
        max_size=6,
    )
)
def test_known_headers_after_any_first_line_mean_what_they_mean_to_h11(sent: list[bytes]) -> None:
    memory = Memory()
    for data in sent * 2:
        assert asked_once(Conversation(Limits(), memory), data) == asked_once(HttpConversation(Limits()), data), data


def test_only_the_first_line_of_a_request_has_to_be_new() -> None:
    """So the cost of h11 is paid once for each set of headers."""
    memory, conversation = Memory(), HttpConversation(Limits())
    conversation.receive(b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n")
    first = conversation.next_request()
    assert first is not None
    memory.keep(b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n", first)
    assert memory.find(b"HEAD /b?c HTTP/1.1\r\n" + HOST + b"\r\n") == Request("HEAD", "/b?c", first.headers)
    assert memory.find(b"POST /b HTTP/1.1\r\n" + HOST + b"\r\n") is None
    assert memory.find(b"GET /b HTTP/1.1\r\n" + HOST + b"X: y\r\n\r\n") is None
    assert memory.find(b"GET /" + b"b" * 5000 + b" HTTP/1.1\r\n" + HOST + b"\r\n") is None, "too long for the memory"


@settings(max_examples=100)
@given(st.one_of(st.binary(max_size=300), st.text("GET /HTP1.\r\n: aContent-Length0,chunked;\t", max_size=200).map(str.encode)),
       st.lists(st.integers(0, 300), max_size=5))  # fmt: skip
def test_no_bytes_break_the_parser(data: bytes, places: list[int]) -> None:
    """Only the two errors that servers expect, whole or in pieces; and then an answer can still be written."""
    for pieces in ([data], cut(data, places)):
        conversation = Conversation(Limits(header_bytes=200, body_bytes=100))
        try:
            for piece in [*pieces, b""]:
                if conversation.over:
                    break
                conversation.receive(piece)
                while not conversation.over and conversation.next_request() is not None:
                    conversation.reply(Answer())
        except BadRequest as bad:
            said = conversation.reply(bad.answer)
            assert said.startswith(b"HTTP/1.1 4") or said.startswith(b"HTTP/1.1 501 ")
            assert conversation.over
        except Vanished:
            assert data


def test_memory_is_bounded() -> None:
    memory = Memory()
    for number in range(3000):
        memory.keep(b"GET / HTTP/1.1\r\n%d" % number, Request("GET", "/"))
        memory.keep_head((number,), 0, b"")
    memory.keep(b"x" * 5000, Request("GET", "/"))
    assert len(memory.requests) <= 1024
    assert len(memory.headers) <= 1024
    assert len(memory.heads) <= 1024
    assert b"x" * 5000 not in memory.requests
