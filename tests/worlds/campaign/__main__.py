"""`python -m tests.worlds.campaign`: every algorithm with every kind of real fault, by real processes; `make campaign` runs it.

Each run is validated, and compared with the rows of docs/reference/verdicts.md that cover what really happened in it.
The seed decides the faults and their times, but not how the operating system schedules the processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from random import Random

from tests.worlds.campaign.cases import FAULTS, Case, pairs
from tests.worlds.campaign.happened import Happened
from tests.worlds.campaign.outcome import Outcome, run_within
from tests.worlds.campaign.real import TIME_SCALE
from vez.catalogue.algorithms import ALGORITHMS
from vez.judge.validate import Answer


def main() -> int:
    """Run the cases, print contradictions to the matrix, and count. Returns the exit code."""
    options = _options()
    cases = [
        Case(algorithm, fault, seed)
        for seed in range(options.seed, options.seed + options.count)
        for algorithm, fault in pairs()
        if options.algorithm in (algorithm, "all") and (options.fault == "all" or fault in options.fault.split(","))
    ]
    Random(options.seed).shuffle(cases)  # so that all algorithms and faults have their share if the time is over early
    print(f"{len(cases)} runs of real processes, seed {options.seed}, times x {TIME_SCALE:g}", flush=True)
    began, found = time.monotonic(), []
    failed = 0
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        until = began + options.seconds
        for future in as_completed([pool.submit(run_within, case, until) for case in cases]):
            outcome, error = future.result()
            if outcome is not None:
                found.append(outcome)
            failed += bool(error)
            if error or (outcome is not None and (outcome.judgement.contradictions or options.all)):
                print(error or (outcome.words() if outcome else ""), flush=True)
            elif sys.stderr.isatty():
                print(f"\r{len(found)} of {len(cases)} ", end="", file=sys.stderr, flush=True)
    return _summary(found, len(cases), failed, time.monotonic() - began)


def _summary(found: list[Outcome], planned: int, failed: int, seconds: float) -> int:
    """Print the numbers. Returns the exit code."""
    judgements = [outcome.judgement for outcome in found]
    wrong = sum(bool(one.contradictions) for one in judgements)
    events = sum(one.validation.events for one in judgements)
    valid = sum(one.validation.answer is Answer.POSSIBLE for one in judgements)
    print(f"{len(found)} of {planned} runs in {seconds:.0f} s, {failed} could not run")
    print(f"{valid} are possible runs of their algorithm ({events:,} events)")
    print(
        f"{sum(bool(one.rows) for one in judgements)} covered by a row of the verification matrix, {wrong} contradict it"
    )
    decided, late = sum(one.decided for one in judgements), sum(len(one.undecided) for one in judgements)
    print(f"{decided} properties that a row says hold held; {late} could not be decided before the end of the run")
    touched = sum(one.happened != Happened(requests=one.happened.requests) for one in judgements)
    print(f"a fault was seen in {touched} runs")
    broken = Counter(
        verdict.name for one in judgements for verdict in one.verdicts.values() if verdict.status == "broken"
    )
    print("broken where no row says that they hold: " + (", ".join(f"{n} {c}" for n, c in broken.items()) or "nothing"))
    return 1 if wrong or failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.worlds.campaign", description=__doc__)
    parser.add_argument("--algorithm", choices=(*ALGORITHMS, "all"), default="all")
    parser.add_argument("--fault", default="all", help=f"all, or some of {', '.join(FAULTS)}")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed; by default the time")
    parser.add_argument("--count", type=int, default=1, help="seeds for each pair")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no run after this time")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--all", action="store_true", help="print every run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
