"""HTTP: one request and its reply on a connection, without I/O. Both transports pass it what they receive.

h11 implements the rules of HTTP. Two frequent cases are parsed without it. One is a short reply with its length in the
header: this halves the CPU time of a turn. The other is the chunks of a watch: h11 took a quarter of a client's CPU
time for a turn with a wait. If anything else arrives, h11 continues from there.
"""

from __future__ import annotations

import re

import h11

LARGEST = 64 << 20
"""Largest reply in bytes. The limit of etcd for a request is 1.5 MB; replies of a range may be larger."""
_PLAIN = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) [^\r\n]*\r\n((?:[!-9;-~]+:[^\r\n]*\r\n)*)\r\n")
_LENGTH = re.compile(rb"^content-length: *(\d{1,9})\r$", re.IGNORECASE | re.MULTILINE)
_BEGINNING = b"HTTP/"
_IN_CHUNKS = [(b"transfer-encoding", b"chunked")]
_DATE = re.compile(rb"^date: *([ -~]*?) *\r$", re.IGNORECASE | re.MULTILINE)
_UNUSUAL = re.compile(rb"^(transfer-encoding|connection|content-encoding): *([^\r]*)\r$", re.IGNORECASE | re.MULTILINE)
_CHUNK = re.compile(rb"([1-9A-Fa-f][0-9A-Fa-f]{0,3})\r\n")
"""The header of a chunk that is short and not the last one."""
_PART_OF_IT = re.compile(rb"(?:[1-9A-Fa-f][0-9A-Fa-f]{0,3}\r?)?")


class NotHttp(Exception):
    """The received bytes are not HTTP; the text says what is wrong."""


class CutOff(NotHttp):
    """The server closed the connection before its reply was complete."""


class Exchange:
    """The request and the reply that a connection is working on."""

    def __init__(self) -> None:
        self.status = 0
        """HTTP status of the reply; 0 until it has begun."""
        self.ended = False
        """True when the reply is complete."""
        self.date = ""
        """The `Date` header of the reply; empty if there was none."""
        self._body = bytearray()
        self._seen = b""  # start of a reply that may be a plain one, or of its next chunk
        self._head = b""  # header of a reply that comes in chunks
        self._machine: h11.Connection | None = None
        self._method = "POST"

    def request(self, host: str, path: str, body: bytes, token: str = "", method: str = "POST") -> bytes:
        """Begin an exchange and return the bytes to send. Every part is ours or was checked before, so no header can be
        injected."""
        self.status, self.ended, self._body, self._machine = 0, False, bytearray(), None
        self._seen = self._head = b""
        self._method = method
        who = f"Authorization: {token}\r\n" if token else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n{who}Content-Length: "
        return f"{head}{len(body)}\r\n\r\n".encode() + body

    def feed(self, data: bytes) -> None:
        """Parse received bytes; empty if the server has closed the connection."""
        if self._machine is None:
            self._seen += data
            if data and (self._chunks() if self._head else self._plain()):
                return
            self._machine = _after_a_request(self._method)
            seen = self._head + self._seen
            if data:
                data = seen
            elif seen:
                self._feed(seen)
        self._feed(data)

    def _plain(self) -> bool:
        """Parse a reply with its length in the header, or the beginning of a chunked one, without h11. True if the
        bytes are, or may still become, such a reply."""
        if self._seen[: len(_BEGINNING)] != _BEGINNING[: len(self._seen)]:  # h11 would wait for the end of the header
            raise NotHttp(f"it begins with {self._seen[:40]!r}")
        head = _PLAIN.match(self._seen)
        if head is None:
            return self._seen.startswith(b"HTTP/1.1 2") and b"\r\n\r\n" not in self._seen and len(self._seen) < 8192
        length, unusual = _LENGTH.findall(head[2]), _UNUSUAL.findall(head[2])
        date = _DATE.search(head[2])
        if unusual or len(length) != 1:
            if head[1] != b"200" or length or [(a.lower(), b.lower()) for a, b in unusual] != _IN_CHUNKS:
                return False
            self.status, self.date = 200, date[1].decode("latin-1") if date else ""
            self._head, self._seen = self._seen[: head.end()], self._seen[head.end() :]
            return self._chunks()
        end = head.end() + int(length[0])
        if len(self._seen) == end:
            self.status, self.ended = int(head[1]), True
            self.date = date[1].decode("latin-1") if date else ""
            self._body = bytearray(self._seen[head.end() :])
            return True
        return len(self._seen) < end <= LARGEST

    def _chunks(self) -> bool:
        """Parse all complete chunks without h11. True if nothing else has arrived, except perhaps the beginning of
        another chunk."""
        start = 0
        while (head := _CHUNK.match(self._seen, start)) is not None:
            end = head.end() + int(head[1], 16)
            if len(self._seen) < end + 2 or self._seen[end : end + 2] != b"\r\n":
                break
            self._body += self._seen[head.end() : end]
            start = end + 2
        self._seen = self._seen[start:]
        if head is not None:
            return len(self._seen) < end - start + 2 and len(self._body) <= LARGEST
        return _PART_OF_IT.fullmatch(self._seen) is not None and len(self._body) <= LARGEST

    def _feed(self, data: bytes) -> None:
        assert self._machine is not None, "the machine was made before"
        try:
            self._machine.receive_data(data)
            while not self.ended:
                event = self._machine.next_event()
                if isinstance(event, h11.Response):
                    self.status = event.status_code
                    self.date = next((value.decode("latin-1") for name, value in event.headers if name == b"date"), "")
                elif isinstance(event, h11.Data):
                    self._body += event.data
                    if len(self._body) > LARGEST:
                        raise NotHttp(f"a reply of more than {LARGEST} bytes")
                elif isinstance(event, h11.EndOfMessage):
                    self.ended = True
                elif isinstance(event, h11.ConnectionClosed) or event in (h11.NEED_DATA, h11.PAUSED):
                    return
        except h11.RemoteProtocolError as error:
            if not data:
                raise CutOff("it closed the connection before its reply was complete") from error
            raise NotHttp(str(error)) from error

    def reusable(self) -> bool:
        """True if the connection can be used for another exchange."""
        if self._machine is None:
            return self.ended
        return self._machine.our_state is h11.DONE and self._machine.their_state is h11.DONE

    def body(self) -> bytes:
        """The whole body of a reply that has ended."""
        return bytes(self._body)

    def lines(self) -> list[bytes]:
        """The complete lines that have arrived since the last call, for a reply that continues."""
        *lines, rest = self._body.split(b"\n")
        self._body = bytearray(rest)
        return [bytes(line) for line in lines if line.strip()]


def _after_a_request(method: str) -> h11.Connection:
    """An h11 connection that waits for the reply to a request."""
    machine = h11.Connection(h11.CLIENT)
    machine.send(h11.Request(method=method, target="/", headers=[("Host", "etcd"), ("Content-Length", "0")]))
    machine.send(h11.EndOfMessage())
    return machine
