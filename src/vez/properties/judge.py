"""Judge all properties that apply to a trace: those of mutual exclusion or those of election."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import Noted, Trace
from vez.properties import election, mutex
from vez.properties.causality import path
from vez.properties.history import History
from vez.properties.verdict import Span, Verdict, broken, holds
from vez.words import said


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
    """No handler raises an exception. The last event of a run that ended so notes what was raised, and where."""
    last = history.trace.events[-1] if history.trace.events else None
    if history.trace.header.end != "raised" or not isinstance(last, Noted):
        return holds(Property.NO_EXCEPTIONS, said("nothing_raised"))
    return broken(
        Property.NO_EXCEPTIONS,
        last.text,
        spans=(Span(last.process, last.at, last.at),),
        messages=path(history.trace, len(history.trace.events) - 1, last.process),
    )
