"""Verdict: the judgement on one property, with its evidence.

There is no plain "ok": a property holds exhaustively, holds in a number of runs, or is broken. It is undecided if the
run ended too early to tell, and not judged if the run contains no evidence about it.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from vez.core.trace import MessageId
from vez.judge.words import Sentence, plain, status_words


class Status(StrEnum):
    """The kinds of verdict."""

    HOLDS = "holds"  # checked exhaustively, for a stated configuration
    HOLDS_IN_RUNS = "holds in runs"  # sampled
    BROKEN = "broken"
    UNDECIDED = "undecided"  # the run ended too early to tell
    NOT_JUDGED = "not judged"  # the run contains no evidence about it


class Span(msgspec.Struct, frozen=True):
    """A process between two times in microseconds. Pictures mark it red."""

    process: int
    start: int
    end: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A judgement on one property."""

    name: str
    status: Status
    said: Sentence
    """The evidence: what happened, to which processes, and when. It is data, and is worded in a language on demand."""
    runs: int = 1
    promised: bool = True
    """True if the algorithm guarantees the property."""
    spans: tuple[Span, ...] = ()
    messages: tuple[MessageId, ...] = ()
    """Sender and number of the messages that led to the violation, latest first."""

    @property
    def evidence(self) -> str:
        """The evidence in English."""
        return str(self.said)

    @property
    def words(self) -> str:
        """The verdict as it is printed: `holds in 1 run`, `broken`, …"""
        return status_words(self.status, self.runs, "en")


def broken(
    name: str, evidence: Sentence | str, *, spans: tuple[Span, ...] = (), messages: tuple[MessageId, ...] = ()
) -> Verdict:
    """A verdict: broken."""
    return Verdict(name=str(name), status=Status.BROKEN, said=_sentence(evidence), spans=spans, messages=messages)


def holds(name: str, evidence: Sentence | str) -> Verdict:
    """A verdict: holds in this run."""
    return Verdict(name=str(name), status=Status.HOLDS_IN_RUNS, said=_sentence(evidence))


def undecided(name: str, evidence: Sentence | str) -> Verdict:
    """A verdict: the run ended too early to tell."""
    return Verdict(name=str(name), status=Status.UNDECIDED, said=_sentence(evidence))


def not_judged(name: str, evidence: Sentence | str) -> Verdict:
    """A verdict: the run contains no evidence about the property."""
    return Verdict(name=str(name), status=Status.NOT_JUDGED, said=_sentence(evidence))


def _sentence(evidence: Sentence | str) -> Sentence:
    return plain(evidence) if isinstance(evidence, str) else evidence
