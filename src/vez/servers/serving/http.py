"""The HTTP of one connection, without I/O: bytes in, requests out; answers in, bytes out. h11 has the rules of HTTP.

A request is handed on whole. Two things that h11 accepts are refused here: a length together with chunks, and a Host
that is not this machine (a page of another site that resolves its own name to 127.0.0.1 would have one).
"""

from __future__ import annotations

import re
import time
from email.utils import formatdate
from http import HTTPStatus

import h11

from vez.servers.serving.limits import Limits
from vez.servers.serving.service import Answer, Request

LOOPBACK_HOST = re.compile(rb"(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?", re.IGNORECASE)
ADDRESS = re.compile(rb"([a-z][a-z0-9+.-]*)://([^/?#]*)(.*)", re.IGNORECASE)
"""A target that is an absolute URL, which clients send to proxies, and which every server must understand."""
REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
PYTHON_BYTES = re.compile(r"""bytearray\(b((?P<q>['"]).*?(?P=q))\)|\bb((?P<r>['"]).*?(?P=r))""")
"""Pattern of bytes in the messages of h11."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class BadRequest(Exception):
    """The client sent something that is not a request, or a request that is too large. The connection ends after the
    answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.answer = Answer(status, f"{text}\n".encode())


class Vanished(Exception):
    """The client ended the connection inside a request or an answer."""


class HttpConversation:
    """The HTTP of one connection: requests one after the other, each answered before the next is read."""

    __slots__ = ("_body", "_h11", "_head", "_limits", "_method", "_room", "_target", "asks_to_continue", "over")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self._head: h11.Request | None = None
        self._target = ""
        self._method = ""
        """Method of the latest request, or of the one that has begun; empty before its head is read."""
        self._body: list[bytes] = []
        self._room = limits.body_bytes
        self.asks_to_continue = False
        """True if the client waits for `CONTINUE` before it sends the body."""
        self.over = False
        """True if no further request will come, or may be answered."""

    def receive(self, data: bytes) -> None:
        """Take bytes from the client; empty at the end of the stream."""
        try:
            self._h11.receive_data(data)
        except RuntimeError as error:
            raise Vanished from error

    def next_request(self) -> Request | None:
        """The next whole request; None if bytes are missing or the client is done (`over`). Raises BadRequest."""
        try:
            return self._next_request()
        except h11.RemoteProtocolError as error:
            self.over = True
            if "closed connection" in str(error):
                raise Vanished from error
            raise BadRequest(error.error_status_hint, PYTHON_BYTES.sub(r"\1\3", str(error))) from error

    def _next_request(self) -> Request | None:
        machine = self._h11
        while True:
            event = machine.next_event()
            if type(event) is h11.Request:
                self._begin(event)
            elif type(event) is h11.Data:
                self._room -= len(event.data)
                if self._room < 0:
                    raise self._bad(413, f"the body has more than {self._limits.body_bytes} bytes")
                self._body.append(bytes(event.data))
            elif type(event) is h11.EndOfMessage:
                return self._end()
            elif event is h11.NEED_DATA or event is h11.PAUSED:
                self.asks_to_continue = event is h11.NEED_DATA and machine.they_are_waiting_for_100_continue
                return None
            else:
                self.over = True
                return None

    def _begin(self, head: h11.Request) -> None:
        self._method = head.method.decode("ascii")
        if self._method == "CONNECT":
            raise self._bad(501, "this server is not a proxy")
        hosts, self._target = _meant(head)
        names = [name for name, _ in head.headers]
        if b"transfer-encoding" in names and (b"content-length" in names or head.http_version < b"1.1"):
            raise self._bad(400, "a body has one length: Content-Length or chunks of HTTP/1.1")
        for name, value in head.headers:
            if name == b"content-length" and int(value) > self._limits.body_bytes:
                raise self._bad(413, f"the body has more than {self._limits.body_bytes} bytes")
        if not all(map(LOOPBACK_HOST.fullmatch, hosts)):
            raise self._bad(421, "this server answers for this machine only: Host is another one")
        self._head, self._body, self._room = head, [], self._limits.body_bytes

    def _end(self) -> Request:
        head = self._head
        assert head is not None  # h11 never ends a message that did not begin
        self._head = None
        return Request(self._method, self._target, tuple(head.headers), b"".join(self._body))

    def _bad(self, status: int, text: str) -> BadRequest:
        self.over = True
        return BadRequest(status, text)

    def reply(self, answer: Answer, *, close: bool = False) -> bytes:
        """The answer to the latest request, as bytes. With `close`, no further request will be answered."""
        machine = self._h11
        headers = [
            (b"Date", _date()),
            (b"Content-Type", answer.content_type.encode()),
            (b"Content-Length", b"%d" % len(answer.body)),
            (b"X-Content-Type-Options", b"nosniff"),
            *((name.encode(), value.encode()) for name, value in answer.headers),
        ]
        if close or self.over:
            headers.append((b"Connection", b"close"))
        reason = REASONS.get(answer.status, b"")
        data = machine.send(h11.Response(status_code=answer.status, headers=headers, reason=reason))
        if answer.body and self._method != "HEAD":
            data += machine.send(h11.Data(data=answer.body))
        machine.send(h11.EndOfMessage())
        if machine.our_state is h11.DONE and machine.their_state is h11.DONE and not self.over:
            machine.start_next_cycle()
            self._method = ""
        else:
            self.over = True
        return data

    @property
    def has_begun(self) -> bool:
        """True if bytes of a further request have already arrived."""
        return self._head is not None or bool(self._h11.trailing_data[0])

    @property
    def stays_open(self) -> bool:
        """True if the latest request lets the connection stay open. Call it before the answer."""
        return self._h11.their_state is h11.DONE


def _meant(head: h11.Request) -> tuple[list[bytes], str]:
    """The hosts of a request, of which h11 lets at most one pass, and its path and query.

    If the target is an absolute URL, its host counts and not the header. No host matches a URL of another scheme.
    """
    address = ADDRESS.fullmatch(head.target)
    if address is None:
        return [value for name, value in head.headers if name == b"host"], head.target.decode("ascii")
    scheme, host, path = address.groups()
    return [host if scheme.lower() == b"http" else b""], ("" if path.startswith(b"/") else "/") + path.decode("ascii")


_dates: tuple[int, bytes] = (0, b"")


def _date() -> bytes:
    """The current time in the format of HTTP; computed once a second."""
    global _dates
    second, text = _dates
    now = int(time.time())
    if now != second:
        text = formatdate(now, usegmt=True).encode()
        _dates = (now, text)
    return text
