"""Outcome: runs a case, judges it and reports it. For a contradiction it keeps the trace and says how to repeat it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT
from tests.verdicts_page import held
from tests.worlds.campaign.cases import Case
from tests.worlds.campaign.judgement import Judgement, judge_run
from tests.worlds.campaign.real import TIME_SCALE, run_case
from vez.catalogue.algorithms import ALGORITHMS
from vez.worlds.check.liveness.lassos import LIVENESS

KEPT = ROOT / "build" / "campaign"
"""Folder for the traces of contradictions."""
_OPTIONS = {
    "kill": " --crashes 1",
    "kill-recover": " --crashes 1 --recoveries 1",
    "kill-amnesia": " --crashes 1 --recoveries 1 --amnesia",
}
"""The options of the rows that a kind of fault usually leads to; empty for delays, which base rows cover."""


class Outcome(NamedTuple):
    """A case that was run."""

    case: Case
    judgement: Judgement
    trace: Path | None
    """Path of the trace of a contradiction, or None."""

    def words(self) -> str:
        """The outcome in one line, or in several for a contradiction."""
        found = self.judgement
        head = f"{self.case.algorithm}, {self.case.fault}: {found.happened.words()}; "
        if not found.contradictions:
            rows = "no row has that" if not found.rows else f"{found.decided} properties held by {len(found.rows)} rows"
            return head + rows + "".join(f", {name} undecided" for name in found.undecided)
        lines = [head + "contradicts the verification matrix", *(f"  {one}" for one in found.contradictions)]
        return "\n".join([*lines, f"  trace: {self.trace}", f"  again: {self.case.again}   # times x {TIME_SCALE:g}"])


def is_hopeful(case: Case) -> bool:
    """True if the run ends by itself according to a row that the fault may lead to."""
    options = _OPTIONS.get(case.fault, "")
    for command, names in held(case.algorithm).items():
        plain = command.split(" --bound")[0].split(" --capacity")[0].split(" --set")[0]
        if plain.split(case.algorithm, 1)[1].replace(" -n 2", "") == options and set(names) & set(LIVENESS):
            return case.fault != "cut-for-good"
    return False


def run_and_judge(case: Case) -> Outcome:
    """Run a case in a temporary folder."""
    algorithm = ALGORITHMS[case.algorithm]
    with tempfile.TemporaryDirectory(prefix="vez-campaign-") as folder:
        trace = run_case(case, algorithm, Path(folder), hopeful=is_hopeful(case))
    found = judge_run(trace, case.algorithm, algorithm, case.scenario().parameters)
    path = None
    if found.contradictions:
        KEPT.mkdir(parents=True, exist_ok=True)
        path = KEPT / f"{case.algorithm}-{case.fault}-{case.seed}.jsonl"
        path.write_bytes(trace.to_bytes())
    return Outcome(case, found, path)


def run_within(case: Case, until: float) -> tuple[Outcome | None, str]:
    """Run a case, unless the time of the monotonic clock is over. The second value is the reason why it could not
    run."""
    if time.monotonic() > until:
        return None, ""
    try:
        return run_and_judge(case), ""
    except (Exception, asyncio.CancelledError) as error:
        return None, f"{case.algorithm}, {case.fault}: {error!r}\n  again: {case.again}"
