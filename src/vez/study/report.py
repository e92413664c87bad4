"""Report: one run, judged and measured, for the command line and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from vez.core.process import Process
from vez.core.trace import Trace
from vez.errors import VezError
from vez.judge.properties import History, Measurements, Status, Verdict, judge, measure
from vez.judge.properties.assumptions import broken_assumptions
from vez.judge.properties.election import leader
from vez.judge.words import Sentence
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Expect


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its verdicts and measurements."""

    trace: Trace
    verdicts: tuple[Verdict, ...]
    measurements: Measurements
    leader: int | None
    broken_assumptions: dict[str, Sentence]
    run: Run | None = None

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The verdicts with the status `broken`."""
        return tuple(verdict for verdict in self.verdicts if verdict.status is Status.BROKEN)

    @property
    def breaks_promise(self) -> bool:
        """True if a property that the algorithm promises is broken."""
        return any(verdict.promised for verdict in self.broken)

    @property
    def promise_open(self) -> bool:
        """True if the run ended before a promised property could be judged."""
        return any(verdict.promised and verdict.status is Status.UNDECIDED for verdict in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """The report as values for JSON."""
        header, cost = self.trace.header, self.measurements
        found: dict[str, Any] = {
            "algorithm": header.algorithm,
            "n": len(header.ids),
            "ids": header.ids,
            "topology": header.topology,
            "seed": header.seed,
            "events": len(self.trace.events),
            "end": header.end,
            "ended_at_ms": header.ended_at / 1000,
            "messages": {"total": cost.messages, "by_kind": cost.by_kind},
            "delays": {
                "client": cost.client_delay.mean,
                "synchronization": cost.synchronization_delay.mean,
                "unit": "ms",
                "message_ms": header.message_us / 1000,
            },
            "properties": {
                verdict.name: {
                    "verdict": verdict.words,
                    "status": verdict.status,
                    "evidence": verdict.evidence,
                    "promised": verdict.promised,
                    "messages": verdict.messages,
                }
                for verdict in self.verdicts
            },
            "broken_assumptions": {name: str(words) for name, words in self.broken_assumptions.items()},
            "measurements": cost,
        }
        if header.role == "election":
            found["leader"] = self.leader
        return msgspec.to_builtins(found, str_keys=True)  # type: ignore[no-any-return]


def report(trace: Trace, run: Run | None = None) -> Report:
    """Judge and measure a trace."""
    history = History(trace)
    return Report(
        trace=trace,
        verdicts=judge(history),
        measurements=measure(history),
        leader=leader(history) if trace.header.role == "election" else None,
        broken_assumptions={str(name): text for name, text in broken_assumptions(history).items()},
        run=run,
    )


def run_and_report(scenario: Scenario, algorithm: type[Process], *, debug: bool = False) -> Report:
    """Simulate, judge and measure."""
    return report_run(simulate(scenario, algorithm, debug=debug))


def report_run(run: Run) -> Report:
    """Judge and measure a run that was recorded."""
    if run.trace is None:
        raise VezError("a recorded run has no trace", hint="this is a bug in vez")
    return report(run.trace, run)


def unmet_expectations(expect: Expect, found: Report) -> list[str]:
    """The expectations of a scenario that a run did not meet, in words."""
    status = {verdict.name: verdict.status for verdict in found.verdicts}
    words = [f"{name} should be broken and is {status.get(name, 'not judged')}" for name in expect.broken
             if status.get(name) is not Status.BROKEN]  # fmt: skip
    words += [f"{name} should hold and is {status.get(name, 'not judged')}" for name in expect.holds
              if status.get(name) is not Status.HOLDS_IN_RUNS]  # fmt: skip
    if expect.leader is not None and found.leader != expect.leader:
        words.append(f"the leader should be {expect.leader} and is {found.leader}")
    return words
