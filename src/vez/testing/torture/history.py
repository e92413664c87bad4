"""Turn the records of workers and the faults into a trace, in the format of the simulator's traces."""

from __future__ import annotations

from bisect import bisect_right

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import (
    FORMAT,
    AnyEvent,
    Crashed,
    Entered,
    Header,
    Left,
    Noted,
    Paused,
    Recovered,
    Resumed,
    Trace,
    Wanted,
    Wrote,
)
from vez.testing.torture.record import Line

PATIENCE_US = 10_000_000
GUARANTEES = (
    Property.EXCLUSION, Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM, Property.REQUEST_ORDER,
    Property.FENCED_EXCLUSION,
)  # fmt: skip


ByWorker = dict[int, tuple[list[int], list[Line]]]


class Fault(msgspec.Struct, frozen=True):
    """A fault and its time; for a kill also the time at which the end of the process was seen."""

    at: int
    worker: int
    kind: str
    done: int = 0


def to_trace(lines: list[Line], faults: list[Fault], workers: int, url: str, seed: int) -> Trace:
    """One trace, with times in microseconds since the first event."""
    start = min([line.at for line in lines] + [fault.at for fault in faults], default=0)
    timed: list[tuple[int, int, AnyEvent]] = []
    for line in lines:
        at = (line.at - start) // 1000
        timed += [(line.at, place, event) for place, event in enumerate(_events(line, at))]
    said = by_worker(lines)
    for fault in faults:
        if not fault.worker:
            continue  # a fault of all workers
        moment = fault.at if fault.kind != "kill" else _death(fault, said)
        at = (moment - start) // 1000
        timed += [(moment, 9 + place, event) for place, event in enumerate(_of_fault(fault, at))]
    timed.sort(key=lambda item: (item[0], item[2].process, item[1]))
    events = tuple(event for _, _, event in timed)
    header = Header(
        vez_trace=FORMAT,
        algorithm=f"torture of {url}",
        role="mutex",
        ids=tuple(range(1, workers + 1)),
        topology="complete",
        seed=seed,
        end="quiet",  # the workers have ended: a request that still waits was never granted
        ended_at=events[-1].at if events else 0,
        guarantees=tuple(map(str, GUARANTEES)),
        patience_us=PATIENCE_US,
    )
    return Trace(header, events)


def by_worker(lines: list[Line]) -> ByWorker:
    """The lines of each worker in order, and their times."""
    said: dict[int, list[Line]] = {}
    for line in lines:
        said.setdefault(line.worker, []).append(line)
    return {worker: ([line.at for line in own], own) for worker, own in said.items()}


def last_before(said: ByWorker, worker: int, moment: int) -> Line | None:
    """The last line of a worker up to that moment."""
    times, own = said.get(worker, ([], []))
    place = bisect_right(times, moment)
    return own[place - 1] if place else None


def _death(fault: Fault, said: ByWorker) -> int:
    """Time of death of a killed worker: not before its last line, and not after its end was seen."""
    last = last_before(said, fault.worker, fault.done)
    return fault.at if last is None else max(fault.at, last.at)


def _events(line: Line, at: int) -> tuple[AnyEvent, ...]:
    who = line.worker
    match line.what:
        case "wanted":
            return (Wanted(at, who),)
        case "entered":
            return (Entered(at, who, token=line.token),)
        case "wrote":
            return (Wrote(at, who, token=line.token, accepted=line.accepted),)
        case "left":
            return (Left(at, who),)
        case "interrupted" | "refused" | "failed":  # the request ended without being granted
            return (Noted(at, who, text=line.what), Crashed(at, who), Recovered(at, who))
        case "bare" | "synced":
            return ()
        case "queued":
            return (Noted(at, who, text="in the queue"),)
        case _:
            return (Noted(at, who, text=line.what),)


def _of_fault(fault: Fault, at: int) -> tuple[AnyEvent, ...]:
    match fault.kind:
        case "kill":
            return (Crashed(at, fault.worker), Recovered(at, fault.worker, memory=False))
        case "pause":
            return (Paused(at, fault.worker),)
        case "resume":
            return (Resumed(at, fault.worker),)
        case "interrupt":
            return (Noted(at, fault.worker, text="SIGINT"),)
        case _:
            return (Noted(at, fault.worker, text=fault.kind),)
