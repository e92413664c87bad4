"""The assumptions of an algorithm that a run did not keep, each with what happened.

A broken guarantee is expected if an assumption was broken too. Otherwise it is a bug.
"""

from __future__ import annotations

from collections.abc import Callable

from vez.core.assumptions import Assumption
from vez.core.trace import Crashed, Delivered, Lost, Paused, Recovered, Suspected, Trace
from vez.properties.history import History
from vez.properties.verdict import ms


def broken_assumptions(trace: Trace | History) -> dict[Assumption, str]:
    """The declared assumptions that this run did not keep."""
    history = trace if isinstance(trace, History) else History(trace)
    found = {}
    for assumption, look in LOOKS.items():
        if assumption in history.trace.header.assumes and (text := look(history)):
            found[assumption] = text
    return found


def _reliable(history: History) -> str:
    lost = sum(isinstance(event, Lost) and event.reason != "crash" for event in history.trace)
    deliveries = [event.message for event in history.trace if isinstance(event, Delivered)]
    doubles = len(deliveries) - len(set(deliveries))
    parts = [f"{lost} lost"] if lost else []
    parts += [f"{doubles} delivered twice"] if doubles else []
    return "messages: " + ", ".join(parts) if parts else ""


def _fifo(history: History) -> str:
    sent = history.trace.messages()
    newest: dict[tuple[int, int], int] = {}
    overtaken = 0
    for event in history.trace:
        if isinstance(event, Delivered):
            message = sent[event.message]
            channel = (message.process, message.to)
            overtaken += event.number < newest.get(channel, 0)
            newest[channel] = max(event.number, newest.get(channel, 0))
    return f"{overtaken} message{'s' if overtaken > 1 else ''} arrived after a later one" if overtaken else ""


def _no_crashes(history: History) -> str:
    return _those({event.process for event in history.trace if isinstance(event, Crashed)}, "crashed")


def _hub_stays(history: History) -> str:
    hub = history.trace.header.ids[0]
    return _those({event.process for event in history.trace if isinstance(event, Crashed)} & {hub}, "crashed")


def _no_recovery(history: History) -> str:
    return _those({event.process for event in history.trace if isinstance(event, Recovered)}, "came back")


def _stable_storage(history: History) -> str:
    return _those(
        {event.process for event in history.trace if isinstance(event, Recovered) and not event.memory},
        "came back without memory",
    )


def _known_bounds(history: History) -> str:
    header = history.trace.header
    if text := _those({event.process for event in history.trace if isinstance(event, Paused)}, "stood still"):
        return text
    if header.drifting:
        return _those(set(header.drifting), "had a clock that was off")
    if header.delay_bound_us is not None:
        sent = history.trace.messages()
        delays = (event.at - sent[event.message].at for event in history.trace if isinstance(event, Delivered))
        longest = max(delays, default=0)
        if longest > header.delay_bound_us:
            return f"a message took {ms(longest)} ms, longer than {ms(header.delay_bound_us)}"
    mistakes = _mistakes(history)
    return f"process {mistakes[0].peer} was alive and silent for too long" if mistakes else ""


def _bounded_stay(history: History) -> str:
    bound = history.trace.header.stay_bound_us
    for stay in history.stays:
        if bound is not None and stay.entered_at is not None:
            length = (history.end if stay.left_at is None else stay.left_at) - stay.entered_at
            if length > bound:
                return f"process {stay.process} was inside for {ms(length)} ms, longer than {ms(bound)}"
    return ""


def _perfect_detector(history: History) -> str:
    if mistakes := _mistakes(history):
        return f"process {mistakes[0].peer} was suspected and alive"
    told = {event.peer for event in history.trace if isinstance(event, Suspected)}
    missed = {down.process for down in history.downs if down.open} - told
    if missed and history.live and history.trace.header.end == "quiet":
        return _those(missed, "crashed and nobody was told")
    return ""


def _mistakes(history: History) -> list[Suspected]:
    return [
        event for event in history.trace if isinstance(event, Suspected) and not history.is_down(event.peer, event.at)
    ]


def _those(processes: set[int], what: str) -> str:
    if not processes:
        return ""
    return f"process{'es' if len(processes) > 1 else ''} {', '.join(map(str, sorted(processes)))} {what}"


LOOKS: dict[Assumption, Callable[[History], str]] = {
    Assumption.RELIABLE: _reliable,
    Assumption.FIFO: _fifo,
    Assumption.NO_CRASHES: _no_crashes,
    Assumption.HUB_STAYS: _hub_stays,
    Assumption.NO_RECOVERY: _no_recovery,
    Assumption.STABLE_STORAGE: _stable_storage,
    Assumption.KNOWN_BOUNDS: _known_bounds,
    Assumption.BOUNDED_STAY: _bounded_stay,
    Assumption.PERFECT_DETECTOR: _perfect_detector,
}
"""One check for each assumption. Unique identifiers are checked before a run starts."""
