"""Assemble: a trace from the journals of nodes, with the header that judges need."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal

import msgspec

from vez.core.trace import Delivered, End, Lost, Promises, Sent, Started, Trace
from vez.worlds.node.cluster.clocks import clocks_of, on_one_clock
from vez.worlds.node.cluster.journals import Life
from vez.worlds.node.cluster.merge import merge
from vez.worlds.node.cluster.run_file import RunFacts
from vez.worlds.sim.header import make_header
from vez.worlds.sim.scenario import Scenario
from vez.worlds.sim.setup import Setup

PATIENCE_US = 1_000_000
"""The default age from which a waiting request counts as starving at the end of a run."""


def scenario_of(lives: Sequence[Life]) -> Scenario:
    """A scenario with the algorithm, the nodes and the parameters of a run."""
    head = lives[0].head
    started = next((event for life in lives for event in life.events if isinstance(event, Started)), None)
    parameters: dict[str, Any] = {} if started is None else started.parameters
    edges = tuple((one, other) for one, other in head.edges if one < other) if head.topology == "graph" else ()
    return Scenario(algorithm=head.algorithm, ids=head.ids, topology=head.topology, edges=edges, parameters=parameters)


def assemble(
    lives: Sequence[Life],
    setup: Setup,
    *,
    kept: RunFacts | None = None,
    end: End = "interrupted",
) -> Trace:
    """The trace of a run. `kept` has the facts of the run file; without them the run ended with its last event."""
    clocks, scale = clocks_of(lives), lives[0].head.time_scale
    found, start, cut, raised = merge(on_one_clock(lives), () if kept is None else kept.faults)
    end = "raised" if raised else end if kept is None else kept.end
    ended = found[-1].at if kept is None or raised else max(kept.ended_us - start, found[-1].at)
    header = make_header(setup, setup.process(setup.ids[0]), end, ended)
    sent = {event.message: event.at for event in found if isinstance(event, Sent)}
    delays = [event.at - sent[event.message] for event in found if isinstance(event, Delivered)]
    lossless = not any(isinstance(event, Lost) and event.reason == "loss" for event in found)
    altered = {what for life in lives for what in life.head.altered}
    timers: Literal["late", "any"] = "any" if len(clocks) > 1 or "timers" in altered else "late"
    place = {life.head.node: clocks.index(life.head.clock) for life in lives}
    header = msgspec.structs.replace(
        header,
        message_us=max(1, round(fmean(delays))) if delays else 1000,
        patience_us=PATIENCE_US if kept is None else kept.patience_us,
        drifting=tuple(sorted({life.head.node for life in lives if "clock" in life.head.altered})),
        loop_us=None,
        stay_bound_us=_scaled(header.stay_bound_us, scale),
        delay_bound_us=_scaled(header.delay_bound_us, scale),
        initial={str(life.head.node): life.head.initial for life in lives if life.head.initial},
        cut=cut,
        hosts=tuple(place[process] for process in setup.ids) if len(clocks) > 1 else (),
        promises=Promises(
            fifo="order" not in altered,
            lossless=lossless,
            once="copies" not in altered,
            timers=timers,
            time_scale=scale,
            instant=len(clocks) == 1,
            whole_ends=not raised and all(life.head.vez_journal > 1 for life in lives),  # nodes without `Ended` crashed
        ),
    )
    return Trace(header, tuple(found))


def _scaled(bound_us: int | None, scale: float) -> int | None:
    return None if bound_us is None else round(bound_us * scale)
