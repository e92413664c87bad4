"""Context: the data that all parts of one validation share, and the exceptions for impossible events."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from vez.core.message import Message
from vez.core.process import Process, handlers_of
from vez.core.recorder import Site
from vez.core.topology import TOPOLOGIES, Graph, Topology
from vez.core.trace import Header, MessageId, Sent, Trace
from vez.errors import BadData, VezError
from vez.judge.validate.steps import arrived

_encoder = msgspec.json.Encoder(order="deterministic")


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The reason why one explanation of a process fails: the expected event, and the event in the trace."""

    index: int
    """Position in the trace of the event that does not fit; the number of events if the run ended too early."""
    expected: str
    found: str
    guesses: tuple[str, ...] = ()
    """The assumptions of this explanation about what was not recorded."""


class Impossible(Exception):
    """An event that cannot have happened. If there are several explanations, the one that got furthest is first."""

    def __init__(self, process: int | None, cause: int | None, *failures: Failure) -> None:
        super().__init__(failures[0].expected)
        self.process = process
        self.cause = cause
        """Position in the trace of the event whose handler ran; None if no handler ran."""
        self.failures = failures


class TooManyExplanations(Exception):
    """The unrecorded choices of a process allow more explanations than can be followed."""

    def __init__(self, process: int) -> None:
        super().__init__(process)
        self.process = process


class Context:
    """A trace, the algorithm with which it is compared, and the messages found so far."""

    def __init__(self, trace: Trace, algorithm: type[Process], *, foreign: bool) -> None:
        header = trace.header
        self.trace = trace
        self.events = trace.events
        self.algorithm: Any = algorithm
        self.foreign = foreign
        """True if the trace was written by another algorithm. Its unknown parameters and fields are then ignored."""
        self.promises = header.promises
        self.unseen = frozenset(header.unseen)
        self.drifting = frozenset(header.drifting)
        self.handlers = handlers_of(algorithm)
        topology = topology_of(header)
        self.sites = {process: Site(algorithm, topology, process) for process in header.ids}
        self.arrived = arrived(trace)
        self.messages: dict[MessageId, Message] = {}
        """The message objects that the repeated handlers sent."""

    @cached_property
    def sendings(self) -> dict[MessageId, Sent]:
        """Every message by its sender and number, for descriptions."""
        return self.trace.messages()


def topology_of(header: Header) -> Topology:
    """The topology that a header names."""
    kind = TOPOLOGIES.get(header.topology)
    try:
        if kind is None:
            raise BadData(
                f"the trace names an unknown topology {header.topology!r}", hint=f"known: {', '.join(TOPOLOGIES)}"
            )
        return Graph(header.ids, header.edges) if kind is Graph else kind(header.ids)
    except BadData:
        raise
    except VezError as error:
        raise BadData(f"the header of the trace makes no sense: {error.message}", hint=error.hint) from error


def encoded(value: Any) -> bytes:
    """Plain values as bytes. They are equal if a trace file would hold the same; lists and tuples do not differ."""
    return _encoder.encode(value)
