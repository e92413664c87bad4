"""Judge: all properties of a trace's role, and the assumptions that the run did not keep."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vez.core.assumptions import Assumption
from vez.core.trace import Crashed, Delivered, Lost, Paused, Recovered, Sent, Suspected, Trace
from vez.properties import election, mutex
from vez.properties.history import History
from vez.properties.verdict import Verdict, ms


def judge(trace: Trace | History, only: Iterable[str] = ()) -> tuple[Verdict, ...]:
    """The verdicts on a trace, in the order of the table of properties."""
    history = trace if isinstance(trace, History) else History(trace)
    header = history.trace.header
    judges = {"mutex": mutex.JUDGES, "election": election.JUDGES, "other": {}}[header.role]
    wanted = set(only)
    return tuple(
        msgspec.structs.replace(decide(history), promised=name in header.guarantees)
        for name, decide in judges.items()
        if not wanted or name in wanted
    )


def broken_assumptions(trace: Trace) -> dict[Assumption, str]:
    """What the world did not keep in this run, with what happened: a broken guarantee may be no surprise."""
    found: dict[Assumption, str] = {}
    lost = sum(isinstance(event, Lost) and event.reason != "crash" for event in trace)
    deliveries = [event.number for event in trace if isinstance(event, Delivered)]
    doubles = len(deliveries) - len(set(deliveries))
    if lost or doubles:
        parts = [f"{lost} lost"] if lost else []
        parts += [f"{doubles} delivered twice"] if doubles else []
        found[Assumption.RELIABLE] = "messages: " + ", ".join(parts)
    if (overtakings := _overtakings(trace)) > 0:
        found[Assumption.FIFO] = f"{overtakings} messages overtook an earlier one"
    for kind, assumption in ((Crashed, Assumption.NO_CRASHES), (Recovered, Assumption.NO_RECOVERY)):
        processes = sorted({event.process for event in trace if isinstance(event, kind)})
        if processes:
            verb = "crashed" if kind is Crashed else "came back"
            found[assumption] = f"process{'es' if len(processes) > 1 else ''} {', '.join(map(str, processes))} {verb}"
    if any(isinstance(event, Recovered) and not event.memory for event in trace):
        found[Assumption.STABLE_STORAGE] = "a process came back without its memory"
    if any(isinstance(event, Paused) for event in trace):
        found[Assumption.KNOWN_BOUNDS] = "a process stood still"
    history = History(trace)
    bound = trace.header.stay_bound_us
    for stay in history.stays:
        if bound is not None and stay.entered_at is not None:
            length = (history.end if stay.left_at is None else stay.left_at) - stay.entered_at
            if length > bound:
                found[Assumption.BOUNDED_STAY] = (
                    f"process {stay.process} was inside for {ms(length)} ms, longer than {ms(bound)}"
                )
    mistakes = [event for event in trace if isinstance(event, Suspected) and not history.is_down(event.peer, event.at)]
    if mistakes:
        found[Assumption.PERFECT_DETECTOR] = f"process {mistakes[0].peer} was suspected and alive"
        found.setdefault(Assumption.KNOWN_BOUNDS, f"process {mistakes[0].peer} was alive and silent for too long")
    return {name: text for name, text in found.items() if name in trace.header.assumes}


def _overtakings(trace: Trace) -> int:
    """Messages that arrived before one sent earlier on the same channel."""
    sent = {event.number: event for event in trace if isinstance(event, Sent)}
    newest: dict[tuple[int, int], int] = {}
    count = 0
    for event in trace:
        if isinstance(event, Delivered):
            message = sent[event.number]
            channel = (message.process, message.to)
            count += event.number < newest.get(channel, 0)
            newest[channel] = max(event.number, newest.get(channel, 0))
    return count
