"""Verdict: the judgement on one property, with its evidence.

Never a bare "ok": a property holds exhaustively, holds in a number of runs, or is broken. It is undecided if the run
ended too early to tell, and not judged if the run says nothing about it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from vez.core.trace import MessageId


class Status(StrEnum):
    """The kinds of verdict."""

    HOLDS = "holds"  # checked exhaustively, for a stated configuration
    HOLDS_IN_RUNS = "holds in runs"  # sampled
    BROKEN = "broken"
    UNDECIDED = "undecided"  # the run ended too early to tell
    NOT_JUDGED = "not judged"  # the run says nothing about it


class Span(msgspec.Struct, frozen=True):
    """A process between two times in microseconds. Pictures mark it red."""

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
    """True if the algorithm guarantees the property."""
    spans: tuple[Span, ...] = ()
    messages: tuple[MessageId, ...] = ()
    """Sender and number of the messages that led to the violation, latest first."""

    @property
    def words(self) -> str:
        """The verdict as it is printed: `holds in 1 run`, `broken`, …"""
        if self.status is Status.HOLDS_IN_RUNS:
            return f"holds in {self.runs:,} run{'s' if self.runs != 1 else ''}"
        return str(self.status)


def ms(us: int) -> str:
    """A time in milliseconds, without trailing zeros."""
    return f"{us / 1000:.3f}".rstrip("0").rstrip(".")


def broken(name: str, evidence: str, *, spans: tuple[Span, ...] = (), messages: tuple[MessageId, ...] = ()) -> Verdict:
    """A verdict: broken."""
    return Verdict(name=str(name), status=Status.BROKEN, evidence=evidence, spans=spans, messages=messages)


def holds(name: str, evidence: str) -> Verdict:
    """A verdict: holds in this run."""
    return Verdict(name=str(name), status=Status.HOLDS_IN_RUNS, evidence=evidence)


def undecided(name: str, evidence: str) -> Verdict:
    """A verdict: the run ended too early to tell."""
    return Verdict(name=str(name), status=Status.UNDECIDED, evidence=evidence)


def not_judged(name: str, evidence: str) -> Verdict:
    """A verdict: the run says nothing about the property."""
    return Verdict(name=str(name), status=Status.NOT_JUDGED, evidence=evidence)
