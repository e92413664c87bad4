"""Verdict: what a judge says of one property, and why.

Never a bare "ok": a property holds exhaustively, or holds in so many runs, or is broken and here is the
evidence; or the run ended too early to tell, or has nothing to say about it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Status(StrEnum):
    """The possible words of a judge."""

    HOLDS = "holds"  # checked exhaustively, for a stated configuration
    HOLDS_IN_RUNS = "holds in runs"  # sampled
    BROKEN = "broken"
    UNDECIDED = "undecided"  # the run ended before it could be told
    NOT_JUDGED = "not judged"  # the run says nothing about it


class Span(msgspec.Struct, frozen=True):
    """A process between two moments (microseconds); pictures paint it red."""

    process: int
    start: int
    end: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement on one property."""

    name: str
    status: Status
    evidence: str
    """In words: who, from when to when."""
    runs: int = 1
    promised: bool = True
    """Whether the algorithm guarantees the property at all."""
    spans: tuple[Span, ...] = ()
    messages: tuple[int, ...] = ()
    """The numbers of the messages that led there."""

    @property
    def words(self) -> str:
        """The verdict as it is printed: `holds in 1 run`, `broken`, …"""
        if self.status is Status.HOLDS_IN_RUNS:
            return f"holds in {self.runs:,} run{'s' if self.runs != 1 else ''}"
        return str(self.status)


def ms(us: int) -> str:
    """A moment or a duration for people: milliseconds without useless zeros."""
    return f"{us / 1000:.3f}".rstrip("0").rstrip(".")


def broken(name: str, evidence: str, *, spans: tuple[Span, ...] = (), messages: tuple[int, ...] = ()) -> Verdict:
    """The property does not hold, and here is why."""
    return Verdict(name=str(name), status=Status.BROKEN, evidence=evidence, spans=spans, messages=messages)


def holds(name: str, evidence: str) -> Verdict:
    """Nothing in this run speaks against the property."""
    return Verdict(name=str(name), status=Status.HOLDS_IN_RUNS, evidence=evidence)


def undecided(name: str, evidence: str) -> Verdict:
    """The run ended before it could be told."""
    return Verdict(name=str(name), status=Status.UNDECIDED, evidence=evidence)


def not_judged(name: str, evidence: str) -> Verdict:
    """The run says nothing about the property."""
    return Verdict(name=str(name), status=Status.NOT_JUDGED, evidence=evidence)
