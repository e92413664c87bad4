"""Judge all properties that apply to a trace: those of mutual exclusion or those of election."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vez.core.trace import Trace
from vez.properties import election, mutex
from vez.properties.history import History
from vez.properties.verdict import Verdict


def judge(trace: Trace | History, only: Iterable[str] = ()) -> tuple[Verdict, ...]:
    """The verdicts on a trace, in the order of the table of properties in the README."""
    history = trace if isinstance(trace, History) else History(trace)
    header = history.trace.header
    judges = {"mutex": mutex.JUDGES, "election": election.JUDGES, "other": {}}[header.role]
    wanted = set(only)
    return tuple(
        msgspec.structs.replace(decide(history), promised=name in header.guarantees)
        for name, decide in judges.items()
        if not wanted or name in wanted
    )
