"""Why a request was not served: the status of HTTP and a sentence for the client."""

from __future__ import annotations


class Refused(Exception):
    """The request cannot be served. The text goes to the client, so it never holds anything that is secret."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
