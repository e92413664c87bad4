"""Judge all properties that apply to a trace: those of mutual exclusion or those of election."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import Noted, Trace
from vez.judge.properties import election, mutex
from vez.judge.properties.causality import path
from vez.judge.properties.history import History
from vez.judge.properties.verdict import Span, Verdict, broken, holds
from vez.judge.words import said


def judge(trace: Trace | History, only: Iterable[str] = ()) -> tuple[Verdict, ...]:
    """The verdicts on a trace, in the order of the table of properties in the README."""
    history = trace if isinstance(trace, History) else History(trace)
    header = history.trace.header
    judges = {"mutex": mutex.JUDGES, "election": election.JUDGES, "other": {}}[header.role]
    wanted = set(only)
    raised = header.end == "raised" and (not wanted or Property.NO_EXCEPTIONS in wanted)
    return (no_exceptions(history),) * raised + tuple(
        msgspec.structs.replace(decide(history), promised=name in header.guarantees)
        for name, decide in judges.items()
        if not wanted or name in wanted
    )


def no_exceptions(history: History) -> Verdict:
    """No handler raises an exception. If one did, the last event of the run notes the exception and its place."""
    last = history.trace.events[-1] if history.trace.events else None
    if history.trace.header.end != "raised" or not isinstance(last, Noted):
        return holds(Property.NO_EXCEPTIONS, said("nothing_raised"))
    return broken(
        Property.NO_EXCEPTIONS,
        last.text,
        spans=(Span(last.process, last.at, last.at),),
        messages=path(history.trace, len(history.trace.events) - 1, last.process),
    )
