"""The messages of `elected-coordinator`: those of `coordinator`, and the questions of a new coordinator."""

from __future__ import annotations

from vez.core import Message


class Ballot(Message):
    """A message of the inner election: the name of its class, and its fields."""

    kind: str
    fields: tuple[int | None, ...]


class Request(Message):
    """Participant to coordinator: I want in."""


class Grant(Message):
    """Coordinator to participant: it is your turn."""

    token: int


class Release(Message):
    """Participant to coordinator: I am out."""

    token: int


class Inquiry(Message):
    """Coordinator to participant: what do you hold, and what do you want?

    `granted` is the token that the coordinator has granted to somebody, or 0; the answer repeats it.
    """

    term: int
    granted: int


class Holding(Message):
    """Participant to coordinator: the answer to an Inquiry, or a report to a coordinator that is new to us."""

    term: int
    about: int  # `granted` of the Inquiry: on a FIFO channel a Grant of that token has arrived before this answer left
    held: int  # the token of the current stay, or 0
    wants: bool  # a request is open
    newest: int  # the largest token seen
