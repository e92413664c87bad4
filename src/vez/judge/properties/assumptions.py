"""The assumptions of an algorithm that a run did not keep, each with the event that broke it.

A broken guarantee is expected if an assumption was broken too. Otherwise it is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vez.core.assumptions import Assumption
from vez.core.trace import Crashed, Delivered, Lost, Paused, Recovered, Suspected, Trace
from vez.judge.properties.history import History
from vez.judge.words import Sentence, said


def broken_assumptions(trace: Trace | History) -> dict[Assumption, Sentence]:
    """The declared assumptions that this run did not keep."""
    history = trace if isinstance(trace, History) else History(trace)
    found = {}
    for assumption, look in LOOKS.items():
        if assumption in history.trace.header.assumes and (words := look(history)):
            found[assumption] = words
    return found


def _reliable(history: History) -> Sentence | None:
    lost = sum(isinstance(event, Lost) and event.reason != "crash" for event in history.trace)
    deliveries = [event.message for event in history.trace if isinstance(event, Delivered)]
    doubles = len(deliveries) - len(set(deliveries))
    if lost and doubles:
        return said("messages_lost_and_twice", lost=lost, doubles=doubles)
    if lost:
        return said("messages_lost", lost=lost)
    return said("messages_twice", doubles=doubles) if doubles else None


def _fifo(history: History) -> Sentence | None:
    sent = history.trace.messages()
    newest: dict[tuple[int, int], int] = {}
    overtaken = 0
    for event in history.trace:
        if isinstance(event, Delivered):
            message = sent[event.message]
            channel = (message.process, message.to)
            overtaken += event.number < newest.get(channel, 0)
            newest[channel] = max(event.number, newest.get(channel, 0))
    return said("messages_overtaken", count=overtaken) if overtaken else None


def _no_crashes(history: History) -> Sentence | None:
    return _those({event.process for event in history.trace if isinstance(event, Crashed)}, "they_crashed")


def _hub_stays(history: History) -> Sentence | None:
    hub = history.trace.header.ids[0]
    return _those({event.process for event in history.trace if isinstance(event, Crashed)} & {hub}, "they_crashed")


def _no_recovery(history: History) -> Sentence | None:
    return _those({event.process for event in history.trace if isinstance(event, Recovered)}, "they_came_back")


def _stable_storage(history: History) -> Sentence | None:
    return _those(
        {event.process for event in history.trace if isinstance(event, Recovered) and not event.memory},
        "they_forgot",
    )


def _known_bounds(history: History) -> Sentence | None:
    header = history.trace.header
    if words := _those({event.process for event in history.trace if isinstance(event, Paused)}, "they_stood_still"):
        return words
    if header.drifting:
        return _those(set(header.drifting), "their_clocks_were_off")
    if header.delay_bound_us is not None:
        longest = max(_delays(history), default=0)
        if longest > header.delay_bound_us:
            return said("message_too_slow", took=longest, bound=header.delay_bound_us)
    mistakes = _mistakes(history)
    return said("silent_for_too_long", peer=mistakes[0].peer) if mistakes else None


def _delays(history: History) -> Iterator[int]:
    """The delays of delivered messages, and the time in transit of messages that still travel to a live process."""
    under_way = history.trace.messages()
    sent = dict(under_way)
    for event in history.trace:
        if isinstance(event, Delivered):
            yield event.at - sent[event.message].at
        if isinstance(event, Delivered | Lost):
            under_way.pop(event.message, None)
    live = frozenset(history.live)
    yield from (history.end - event.at for event in under_way.values() if event.to in live)


def _bounded_stay(history: History) -> Sentence | None:
    bound = history.trace.header.stay_bound_us
    for stay in history.stays:
        if bound is not None and stay.entered_at is not None:
            length = (history.end if stay.left_at is None else stay.left_at) - stay.entered_at
            if length > bound:
                return said("inside_for_too_long", process=stay.process, took=length, bound=bound)
    return None


def _perfect_detector(history: History) -> Sentence | None:
    if mistakes := _mistakes(history):
        return said("suspected_and_alive", peer=mistakes[0].peer)
    told = {event.peer for event in history.trace if isinstance(event, Suspected)}
    missed = {down.process for down in history.downs if down.open} - told
    if missed and history.live and history.trace.header.end == "quiet":
        return _those(missed, "nobody_was_told")
    return None


def _mistakes(history: History) -> list[Suspected]:
    return [
        event for event in history.trace if isinstance(event, Suspected) and not history.is_down(event.peer, event.at)
    ]


def _those(processes: set[int], key: str) -> Sentence | None:
    return said(key, who=tuple(sorted(processes))) if processes else None


LOOKS: dict[Assumption, Callable[[History], Sentence | None]] = {
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
