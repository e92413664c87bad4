"""The interface of a service: decode a request, decide its result, encode the answer.

The three steps are separate because their costs differ. `decode` and `answer` only compute, and are quick.
`decide` may block: it reads files, asks a database, waits for a lock. The model of a server says which thread
does which step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import Generic, TypeVar

import msgspec

Q = TypeVar("Q")
"""A decoded request."""
R = TypeVar("R")
"""The result of a request."""


class Request(msgspec.Struct, frozen=True):
    """One whole HTTP request."""

    method: str
    target: str
    """Path and query, as they were sent: percent signs are not decoded."""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """Names in lower case."""
    body: bytes = b""

    def header(self, name: bytes) -> bytes | None:
        """The first header of this name, or None."""
        return next((value for found, value in self.headers if found == name), None)


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    """More headers. Length, type, date and connection are set by the server."""


class Refusal(Exception):
    """Raised by a service instead of an answer: a status and a line for the client."""

    def __init__(self, status: int, text: str = "", headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text or HTTPStatus(status).phrase)
        self.answer = Answer(status, f"{self}\n".encode(), headers=headers)


class Service(ABC, Generic[Q, R]):
    """One service. Its methods are called by many threads at once, so `decide` protects what it shares."""

    name = "service"

    @abstractmethod
    def decode(self, request: Request) -> Q:
        """Decode a request. Quick, never blocks. Raises Refusal."""

    @abstractmethod
    def decide(self, question: Q) -> R:
        """Compute the result. May block. Raises Refusal."""

    @abstractmethod
    def answer(self, result: R) -> Answer:
        """Encode the result as an answer. Quick, never blocks."""

    def at_once(self, question: Q) -> R | None:
        """The result if it is known without blocking, else None. The model `loop` asks before it uses its pool."""
        return None

    def close(self) -> None:
        """Release files and threads. Called after the server has stopped."""
        return
