"""Outcomes: the properties that break in a simulated run, for the comparison with the checker's verdicts.

A run that a limit cuts short is undecided. If nothing happened in it for its whole patience, it is run again, a
hundred times as long; only what is still broken then counts. Runs that leave the configuration do not count.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.worlds.crosscheck.sampling import LONG_LIMITS, Seen, observe
from vez.core.assumptions import Property
from vez.core.trace import Asked, Crashed, Recovered, Trace, Trusted
from vez.judge.properties import History, Status, judge
from vez.worlds.check import Configuration
from vez.worlds.check.liveness.lassos import LIVENESS
from vez.worlds.check.model.configuration import FOREVER


def broken(configuration: Configuration, seen: Seen, names: Iterable[str]) -> list[str]:
    """Those of the properties that the run breaks."""
    if trusts_the_dead(seen.trace):
        return []
    if seen.raised:
        return [Property.NO_EXCEPTIONS]  # the run ends there
    asked = [name for name in names if name != Property.NO_EXCEPTIONS]
    verdicts = judge(seen.trace, only=asked) if asked else ()
    found = [verdict.name for verdict in verdicts if verdict.status is Status.BROKEN]
    lively = [name for name in found if name in LIVENESS]
    if lively and (owes_an_election(configuration, seen.trace) or not _for_ever(configuration, seen, lively)):
        return [name for name in found if name not in lively]
    return found


def bypasses(trace: Trace) -> int:
    """The largest number of entries before a request that was placed earlier."""
    return max(History(trace).bypasses, default=0)


def _for_ever(configuration: Configuration, seen: Seen, names: list[str]) -> bool:
    """True if a longer run breaks the same properties."""
    if seen.trace.header.end == "quiet":
        return True
    longer = observe(configuration, seen.scenario.but(**LONG_LIMITS))
    return all(verdict.status is Status.BROKEN for verdict in judge(longer.trace, only=names))


def trusts_the_dead(trace: Trace) -> bool:
    """True if the end of a wrong suspicion was reported although the peer had crashed meanwhile."""
    dead: set[int] = set()
    for event in trace:
        if isinstance(event, Crashed):
            dead.add(event.process)
        elif isinstance(event, Recovered):
            dead.discard(event.process)
        elif isinstance(event, Trusted) and event.peer in dead:
            return True
    return False


def owes_an_election(configuration: Configuration, trace: Trace) -> bool:
    """True if a live process was asked less often than the checker asks it: its request came while it was down."""
    if configuration.algorithm.role != "election":
        return False
    asked = [event.process for event in trace if isinstance(event, Asked)]
    live = History(trace).live
    return any(
        most != FOREVER and asked.count(one) < most for one, most in configuration.requests.items() if one in live
    )
