"""The header of a trace: what judges and pictures need to know about the run, apart from its events."""

from __future__ import annotations

from vez.core import trace as events
from vez.core.process import Process
from vez.core.trace import End, Header
from vez.sim.delays import us
from vez.sim.setup import Setup


def make_header(setup: Setup, process: Process, end: End, ended_at: int) -> Header:
    """The header of a run that ended; `process` is one of its processes, for values that parameters decide."""
    algorithm, scenario, topology = setup.algorithm, setup.scenario, setup.topology
    patience, bound = scenario.patience_ms, process.longest_delay_ms()
    stay_bound = getattr(algorithm, "stay_bound", "")  # the name of a parameter
    return Header(
        vez_trace=events.FORMAT,
        algorithm=scenario.algorithm,
        role=algorithm.role,
        ids=topology.ids,
        topology=topology.name,
        edges=topology.edges() if topology.name in ("graph", "grid") else (),
        seed=scenario.seed,
        end=end,
        ended_at=ended_at,
        message_us=setup.message_us,
        guarantees=tuple(map(str, algorithm.guarantees)),
        assumes=tuple(map(str, algorithm.assumes)),
        best_wins=getattr(algorithm, "best_wins", False),
        bypass_bound=getattr(algorithm, "bypass_bound", None),
        stay_bound_us=us(getattr(process, stay_bound)) if stay_bound else None,
        delay_bound_us=None if bound is None else us(bound),
        drifting=tuple(sorted(drift.process for drift in scenario.drift if drift.rate != 1.0)),
        patience_us=100 * setup.message_us if patience is None else us(patience),
        loop_us=None if scenario.loop_ms is None else (us(scenario.loop_ms[0]), us(scenario.loop_ms[1])),
    )
