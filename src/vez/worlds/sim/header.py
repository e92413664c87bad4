"""Header: makes the header of a trace, with the facts that judges and pictures need apart from the events."""

from __future__ import annotations

from vez.core import overrides
from vez.core import trace as events
from vez.core.process import Process, bypass_bound, handlers_of, initial_fields
from vez.core.process_ids import identifier_paths
from vez.core.trace import End, Header, Promises
from vez.errors import BadHandler
from vez.worlds.sim.delays import us
from vez.worlds.sim.setup import Setup


def make_header(setup: Setup, process: Process, end: End, ended_at: int) -> Header:
    """The header of a run that ended. `process` is one of its processes; some values depend on its parameters."""
    algorithm, scenario, topology = setup.algorithm, setup.scenario, setup.topology
    patience, bound = scenario.patience_ms, overrides.longest_delay_ms(process)
    stay_bound = overrides.longest_stay_ms(process)
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
        candidates=_candidates(process, topology.ids),
        bypass_bound=bypass_bound(algorithm, len(topology.ids)),
        stay_bound_us=None if stay_bound is None else us(stay_bound),
        delay_bound_us=None if bound is None else us(bound),
        drifting=tuple(sorted(drift.process for drift in scenario.drift if drift.rate != 1.0)),
        patience_us=100 * setup.message_us if patience is None else us(patience),
        loop_us=None if scenario.loop_ms is None else (us(scenario.loop_ms[0]), us(scenario.loop_ms[1])),
        promises=_promises(setup, end),
        initial={str(me): initial_fields(setup.process(me)) for me in setup.values if me is not None},
        names=tuple(scenario.names.get(str(process), "") for process in topology.ids) if scenario.names else (),
        identifiers=_identifiers(algorithm),
        title=scenario.title,
    )


def _identifiers(algorithm: type[Process]) -> dict[str, tuple[str, ...]]:
    """The fields that hold identifiers of processes, by kind of message."""
    try:
        kinds = handlers_of(algorithm).kinds
    except BadHandler:  # its message classes cannot be found by name, for example inside a function
        return {}
    return {name: paths for name in sorted(kinds) if (paths := identifier_paths(kinds[name].message))}


def _candidates(process: Process, ids: tuple[int, ...]) -> tuple[int, ...]:
    """The processes that may lead, the best last; empty for all processes, by identifier."""
    found = overrides.candidates(process, ids)
    return () if found == tuple(sorted(ids)) else found


def _promises(setup: Setup, end: End) -> Promises:
    """The promises that hold in this run for any seed."""
    scenario, network = setup.scenario, setup.scenario.network
    return Promises(
        fifo=setup.fifo,
        lossless=not network.loss and not any(fate.lost for fate in scenario.message),
        once=not network.duplicate and not any(fate.copies for fate in scenario.message),
        timers="any" if scenario.timer else "exact",
        instant=True,
        whole_steps=end not in ("interrupted", "raised")
        and all(crash.after_actions is None for crash in scenario.crash),
        sharp_faults=True,
    )
