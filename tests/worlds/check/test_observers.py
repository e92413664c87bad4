"""Observers agree with the judges on the trace of every run, and a violation that they find is replayed as one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.worlds.check.test_search import configuration
from vez.catalogue.algorithms import find
from vez.cli.app import run
from vez.core.assumptions import Property
from vez.core.process import bypass_bound
from vez.errors import Misuse
from vez.judge.properties import Status, judge
from vez.worlds.check import Configuration, check
from vez.worlds.check.model.observers import Fence, Watch
from vez.worlds.check.model.path import Path, Replay
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import Step
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Scenario, dumps, loads

BREAKS = {
    ("ricart-agrawala-priority", Property.REQUEST_ORDER),
    ("suzuki-kasami", Property.REQUEST_ORDER),
    ("elected-coordinator", Property.FENCED_EXCLUSION),
    ("bully-stable", Property.STABILITY),
    ("ricart-agrawala-priority", Property.BOUNDED_WAITING),
    ("coordinator-lease", Property.BOUNDED_WAITING),
}
"""Algorithms and properties for which some random run finds a violation."""
RUNS = 60
STEPS = 40


def walk(model: Model, seed: int) -> Path:
    """A run in which chance decides the next step."""
    chance = random.Random(seed)
    start = at = chance.choice(model.initial())
    steps: list[Step] = []
    while len(steps) < STEPS and (options := list(model.steps(at))):
        steps.append(chance.choice(options))
        at = steps[-1].state
    return Path(start, tuple(steps))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "n", "options", "watched"),
    [
        ("ricart-agrawala-priority", 3, {"requests": 2}, Property.REQUEST_ORDER),
        ("suzuki-kasami", 3, {"requests": 2, "duplicates": 1}, Property.REQUEST_ORDER),
        ("maekawa", 3, {"requests": 2, "losses": 1}, Property.REQUEST_ORDER),
        ("quorum", 2, {"requests": 3, "crashes": 1, "recoveries": 1, "amnesia": True}, Property.REQUEST_ORDER),
        ("coordinator-lease", 3, {"requests": 2, "timeouts": True}, Property.REQUEST_ORDER),
        ("coordinator-lease", 3, {"requests": 2, "timeouts": True}, Property.FENCED_EXCLUSION),
        (
            "elected-coordinator",
            3,
            {"set": {"election": "bully"}, "mistakes": 2, "timeouts": True},
            Property.FENCED_EXCLUSION,
        ),
        ("bully-stable", 3, {"crashes": 1, "recoveries": 1, "timeouts": True}, Property.STABILITY),
        ("ricart-agrawala-priority", 3, {"requests": 3}, Property.BOUNDED_WAITING),
        ("ricart-agrawala-priority", 3, {"requests": 3, "duplicates": 3, "withdrawals": 2}, Property.BOUNDED_WAITING),
        (
            "coordinator-lease",
            3,
            {"requests": 3, "crashes": 2, "recoveries": 2, "timeouts": True},
            Property.BOUNDED_WAITING,
        ),
        ("lamport", 2, {"requests": 3, "withdrawals": 2}, Property.BOUNDED_WAITING),
        ("maekawa-fair", 3, {"requests": 2, "crashes_inside": 2, "recoveries": 2}, Property.BOUNDED_WAITING),
    ],
    ids=str,
)
def test_the_observer_and_the_judge_agree_on_every_run(
    name: str, n: int, options: dict[str, Any], watched: Property
) -> None:
    asked = configuration(name, n, options)
    seen = set()
    for seed in range(RUNS):
        observer = Watch((watched,), bypass_bound(asked.algorithm, n), asked.ids)
        model = Model(asked, observer)
        path = walk(model, seed)
        verdict = judge(Replay(model, path).trace(), only=[watched])[0]
        broken = watched in observer.broken(path.states[-1].observer)
        assert broken == (verdict.status is Status.BROKEN), (seed, verdict.evidence)
        seen.add(broken)
    assert False in seen
    assert (True in seen) == ((name, watched) in BREAKS)


@pytest.mark.parametrize(
    ("name", "options", "states"),
    [
        ("ricart-agrawala", {}, 5_744),
        ("coordinator", {"requests": 2}, None),
        ("token-ring", {}, 180),
        ("raymond", {}, 174),
        ("naimi-trehel", {}, 172),
        ("ricart-agrawala", {"crashes": 1}, None),
    ],
    ids=str,
)
def test_who_asked_first_gets_in_first(name: str, options: dict[str, Any], states: int | None) -> None:
    report = check(configuration(name, 3, options), ("request_order",))
    assert report.verdicts[0].status is Status.HOLDS
    assert states is None or report.states == states


@pytest.mark.parametrize(("name", "steps"), [("ricart-agrawala-priority", 10), ("suzuki-kasami", 7), ("maekawa", 23)])
def test_who_knew_of_a_request_overtakes_it_in_a_run_that_is_replayed(name: str, steps: int) -> None:
    report = check(configuration(name, 3, {}), ("request_order",))
    example = report.counterexamples["request_order"]
    assert example.steps == steps
    trace = simulate(loads(dumps(example.scenario)), find(name)).trace
    assert trace == example.trace
    assert judge(trace, only=["request_order"])[0].status is Status.BROKEN
    assert not any("Stamped" in words for words in example.words)


def test_order_is_judged_beside_other_properties_with_their_verdicts() -> None:
    alone = check(configuration("ricart-agrawala", 3, {"crashes": 1}))
    both = check(
        configuration("ricart-agrawala", 3, {"crashes": 1}), ("request_order", "exclusion", "deadlock_freedom")
    )
    assert both.broken == ("deadlock_freedom",)
    assert both.counterexamples["deadlock_freedom"].steps == alone.counterexamples["deadlock_freedom"].steps


def test_requests_without_end_cannot_be_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Misuse, match="endless"):
        check(Configuration(Scenario(algorithm="token-ring"), find("token-ring"), requests=-1), ("request_order",))
    assert run(["check", "token-ring", "--requests", "forever", "--property", "request_order"]) == 64
    assert "--requests 2" in capsys.readouterr().err


def test_a_writer_that_has_left_makes_its_place_free() -> None:
    """The process that leaves last writes last, so the place of the earlier writer is not needed any more."""
    fence = Fence()
    for process, seen in ((2, "enter"), (1, "enter"), (3, "enter"), (1, "leave"), (3, "leave")):
        fence = fence.after(process, (seen, 1))
    assert [stay.process for stay in fence.stays] == [2, None]
    assert fence.broken  # 1 wrote after 3, which got in later
