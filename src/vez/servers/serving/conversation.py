"""The HTTP of a connection, with a cache of the results of h11 for bytes that it has seen before.

h11 is written in Python, and costs more than all the rest of a small request. Clients that keep a connection send the
same bytes repeatedly, or the same headers after another first line. So a request whose bytes are known is not parsed
again. If only its headers are known, its first line is compared with a pattern that is narrower than what h11 accepts.
The head of an answer whose parts are known is not written again. All results equal those of h11, because only requests
are cached that arrived whole and alone, have no body and leave the connection open: after them h11 is in the same state
as before them. An h11 object that has read such a request, and whose answer is known, is replaced by a new one: that
costs less than letting it write the answer.
"""

from __future__ import annotations

import re
import time
from typing import Any

from vez.servers.serving.http import HttpConversation
from vez.servers.serving.limits import Limits
from vez.servers.serving.service import Answer, Request

MOST = 1024
LONGEST = 4096
"""Largest number of cached requests, and of bytes of each: a few megabytes at most."""
FIRST_LINE = re.compile(rb"(GET|HEAD) (/[\x21-\x7e]*) HTTP/1\.1")
"""First lines that do not change the meaning of the headers after them."""


class Memory:
    """A cache of the results of h11. All connections of a server share one; losing an entry to a race only costs
    time."""

    def __init__(self) -> None:
        self.requests: dict[bytes, Request] = {}
        self.headers: dict[bytes, tuple[tuple[bytes, bytes], ...]] = {}
        self.heads: dict[tuple[Any, ...], tuple[int, bytes]] = {}

    def find(self, data: bytes) -> Request | None:
        """The request in these bytes, if it is known or only its first line is new; else None."""
        found = self.requests.get(data)
        if found is None and len(data) <= LONGEST:
            line, _, rest = data.partition(b"\r\n")
            headers = self.headers.get(rest)
            if headers is not None and (new := FIRST_LINE.fullmatch(line)) is not None:
                found = Request(new[1].decode("ascii"), new[2].decode("ascii"), headers)
                self._keep_request(data, found)
        return found

    def keep(self, data: bytes, request: Request) -> None:
        """Remember the request in these bytes."""
        if len(data) > LONGEST:
            return
        self._keep_request(data, request)
        line, _, rest = data.partition(b"\r\n")
        if FIRST_LINE.fullmatch(line) is not None:
            if len(self.headers) >= MOST:
                self.headers = {}
            self.headers[rest] = request.headers

    def _keep_request(self, data: bytes, request: Request) -> None:
        if len(self.requests) >= MOST:
            self.requests = {}  # frequent requests are soon cached again
        self.requests[data] = request

    def keep_head(self, key: tuple[Any, ...], second: int, head: bytes) -> None:
        """Remember the head of an answer for the second whose date is in it."""
        if len(self.heads) >= MOST:
            self.heads = {}
        self.heads[key] = (second, head)


class Conversation:
    """Behaves as `HttpConversation`, and is faster for requests that it has seen before."""

    __slots__ = (
        "_alone",
        "_ended",
        "_fresh",
        "_http",
        "_known",
        "_limits",
        "_memory",
        "_read",
        "asks_to_continue",
        "over",
    )

    def __init__(self, limits: Limits, memory: Memory | None = None) -> None:
        self._limits = limits
        self._memory = memory or Memory()
        self._http = HttpConversation(limits)
        self._fresh = True
        """True if h11 waits for a new request and has no byte of one."""
        self._ended = False
        """True if the client will send no more."""
        self._alone = b""
        """The bytes of the request that is being read, if they arrived together and no others have arrived since."""
        self._known: Request | None = None
        """The latest request, if its bytes are cached; h11 has not seen them."""
        self._read: Request | None = None
        """The latest request, if h11 has just read it and it can be cached."""
        self.asks_to_continue = False
        """True if the client waits for `CONTINUE` before it sends the body."""
        self.over = False
        """True if no further request will come, or may be answered."""

    def receive(self, data: bytes) -> None:
        """Take bytes from the client; empty at the end of the stream."""
        if not data:
            self._ended = True
        if self._known is None:
            if self._fresh:
                self._alone = data
                self._known = self._memory.find(data)
                if self._known is not None:
                    return
            else:
                self._alone = b""
        self._fresh = False
        self._http.receive(data)

    def next_request(self) -> Request | None:
        """The next whole request; None if bytes are missing or the client is done. Raises BadRequest, Vanished."""
        if self._known is not None:
            return self._known
        if self._fresh:
            return None
        http = self._http
        try:
            request = http.next_request()
        finally:
            self.over = http.over
        self.asks_to_continue = http.asks_to_continue
        if request is not None and self._alone and not request.body and http.stays_open and not http.has_begun:
            self._memory.keep(self._alone, request)
            self._read = request
        return request

    def reply(self, answer: Answer, *, close: bool = False) -> bytes:
        """The answer to the latest request, as bytes. With `close`, no further request will be answered."""
        known, self._known = self._known, None
        read, self._read = self._read, None
        alone, self._alone = self._alone, b""
        request = known or read
        if request is None or (read is not None and (self._ended or self._http.has_begun)):
            return self._write(answer, close=close)
        key = (answer.status, answer.content_type, answer.headers, len(answer.body))
        second = int(time.time())
        found = self._memory.heads.get(key)
        without_body = request.method == "HEAD"
        if found is not None and found[0] == second and not close:
            if read is not None:
                self._http, self._fresh = HttpConversation(self._limits), True
            return found[1] if without_body else found[1] + answer.body
        if read is not None:
            data = self._write(answer, close=close)
        else:
            http = HttpConversation(self._limits)  # let h11 write what it would have written
            http.receive(alone)
            http.next_request()
            data = http.reply(answer, close=close)
            self.over = close
        if not close:
            self._memory.keep_head(key, second, data if without_body else data[: len(data) - len(answer.body)])
        return data

    def _write(self, answer: Answer, *, close: bool) -> bytes:
        """Let the h11 that has read the request write the answer."""
        data = self._http.reply(answer, close=close)
        self.over = self._http.over
        self._fresh = not self._ended and not self._http.has_begun
        return data

    @property
    def has_begun(self) -> bool:
        """True if bytes of a further request have already arrived."""
        return not self._fresh and self._http.has_begun
