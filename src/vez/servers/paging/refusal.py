"""The refusal of a request: an HTTP status and a sentence for the client.

A module of its own, because nearly all parts of this package raise it, and they import each other.
"""

from __future__ import annotations


class Refused(Exception):
    """The request cannot be served. The text goes to the client, so it never contains a secret."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
