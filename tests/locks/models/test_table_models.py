"""The turn table in the checker: every configuration whole, with its exact number of states, and mutants that it sees."""

from __future__ import annotations

import json

import pytest

from tests.locks.table.mutants import MUTANTS
from vez.cli.app import run
from vez.errors import UnknownName
from vez.locks.models import CONFIGURATIONS, find_model
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.sim.scenario import Scenario

STATES = {
    "table:lock": 2_354,
    "table:withdrawal": 73_496,
    "table:crash": 173_234,
    "table:withdrawal-crash": 441_314,
    "table:break": 221_936,
    "table:break-at-once": 131_663,
    "table:break-withdrawal": 211_325,
    "table:break-crash": 924_092,
    "table:shared": 2_442,
    "table:shared-withdrawal": 62_493,
    "table:shared-crash": 72_234,
    "table:shared-break": 71_806,
    "table:semaphore": 5_900,
    "table:semaphore-withdrawal": 123_249,
    "table:semaphore-crash": 163_004,
    "table:semaphore-break": 224_136,
    "table:election": 2_338,
    "table:election-withdrawal": 103_868,
    "table:election-crash": 84_346,
    "table:election-transfer": 112_367,
    "table:election-break": 61_164,
    "table:election-transfer-break": 15_553,
}
QUICK = 30_000
"""States up to which a configuration is explored by `make test`; larger ones are for `make test-long`."""


def explored(name: str, *, first: bool = False) -> Report:
    model = find_model(name)
    asked = model.question
    configuration = Configuration(
        Scenario(algorithm=name),
        model,
        requests=asked.requests,
        budget=Budget(crashes=asked.crashes, withdrawals=asked.withdrawals),
        victims=(2, 3, 4) if asked.crashes else (),
    )
    return check(configuration, (*map(str, model.guarantees), "no_exceptions"), first=first, workers=1)


def test_every_configuration_has_its_number_of_states() -> None:
    assert list(STATES) == list(CONFIGURATIONS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if count > QUICK else []) for name, count in STATES.items()]
)
def test_a_configuration_keeps_every_promise(name: str) -> None:
    found = explored(name)
    assert {verdict.name: verdict.words for verdict in found.verdicts if verdict.words != "holds"} == {}
    assert (found.states, found.stopped, found.bugs) == (STATES[name], "", ())
    assert "grace ends at any moment" in found.abstraction


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.configuration is not None])
def test_the_referee_sees_a_mutant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the rule, and the simulator has replayed the run to it."""
    mutant = MUTANTS[name]
    mutant.make(monkeypatch)
    found = explored(mutant.configuration or "", first=True)
    assert found.broken == ("no_exceptions",)
    words = found.counterexamples["no_exceptions"].verdict.evidence
    assert "raised RuleBroken" in words
    assert mutant.rule
    assert mutant.rule in words


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.judged])
def test_the_judges_see_a_mutant_without_the_referee(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.make(monkeypatch)
    monkeypatch.setattr("vez.locks.models.server.judge", lambda *step: None)
    assert mutant.judged in explored(mutant.configuration or "").broken


@pytest.mark.long
def test_every_handler_runs_in_some_configuration() -> None:
    names = ["table:election-break", "table:shared-withdrawal", "table:shared-crash", "table:election-transfer-break"]
    assert set.intersection(*(set(explored(name).never_ran) for name in names)) == set()


def test_an_unknown_configuration_suggests_others() -> None:
    with pytest.raises(UnknownName, match="table:shared"):
        find_model("table:shred")


def test_the_command_line_explores_a_configuration_and_says_what_is_abstracted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["check", "table:lock", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["states"], found["complete"]) == (STATES["table:lock"], True)
    assert found["configuration"].startswith("n=4, 2 requests each, FIFO channels")
    assert {one["status"] for one in found["properties"].values()} == {"holds"}
    assert run(["check", "table:lock"]) == 0
    assert "abstracted: tokens are bounded by the requests" in capsys.readouterr().out


def test_options_change_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "table:crash", "--crashes", "1", "--requests", "1", "--json"]) == 0
    words = json.loads(capsys.readouterr().out)["configuration"]
    assert "1 request each" in words
    assert words.endswith("1 crash, only 2, 3, 4 may crash")
    assert run(["check", "table:lock", "--want", "2", "--want", "4", "--property", "exclusion", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "1 request of 2, 1 request of 4" in found["configuration"]
    assert set(found["properties"]) == {"exclusion"}


def test_the_configurations_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "table:", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert set(listed) == set(CONFIGURATIONS)
    assert listed["table:crash"]["crashes"] == 2
    assert run(["check", "table:"]) == 0
    assert "table:lock" in capsys.readouterr().out
