"""Every mistake of the zoo is caught within a bounded number of seeds, and only the mistake is to blame."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.exhibits import exhibits, shown_run
from vez.catalogue.load import load_algorithm
from vez.catalogue.zoo import ZOO, find_specimen
from vez.cli.app import app, run
from vez.cli.zoo import print_exhibit
from vez.core.trace import Sent
from vez.judge.properties import Status
from vez.study.exhibit import SEEDS, catch, source
from vez.study.explain import unexplained
from vez.study.search import first_break
from vez.study.sweep import sweep


def names() -> list[str]:
    return list(ZOO)


def test_there_are_enough_of_them_and_each_says_what_it_is() -> None:
    assert len(ZOO) >= 10
    assert len({specimen.answer for specimen in ZOO.values()}) == len(ZOO)
    for specimen in ZOO.values():
        assert specimen.algorithm.wrong
        assert specimen.teaches.endswith(".")
        assert issubclass(specimen.algorithm, specimen.honest)


@pytest.mark.parametrize("name", names())
def test_caught_within_the_bounded_seeds(name: str) -> None:
    found = catch(ZOO[name])
    assert found is not None
    assert found.tried <= SEEDS
    assert found.property == ZOO[name].breaks


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_the_right_algorithm_does_not_fail_in_the_same_world(name: str) -> None:
    specimen = ZOO[name]
    worlds = (specimen.world.but(seed=seed) for seed in range(SEEDS))
    parameters = set(specimen.world.parameters) - set(specimen.honest.__struct_fields__)
    assert not parameters, "the right algorithm must know the parameters of the world"
    assert first_break(worlds, specimen.honest, [specimen.breaks, *specimen.honest.guarantees]) is None


@pytest.mark.parametrize("name", exhibits())
def test_the_exhibit_is_short_and_still_fails(name: str) -> None:
    shown = shown_run(name)
    broken = [verdict.name for verdict in shown.report.verdicts if verdict.status is Status.BROKEN]
    assert shown.specimen.breaks in broken
    assert sum(isinstance(event, Sent) for event in shown.report.trace) <= 60


UNDECIDED = dict.fromkeys(("old-letter", "forgotten-vote"), "was not explored to its end")
"""Specimens for which the checker cannot decide, within any limit, whether a smaller run fails:
docs/decisions/zoo.md."""
SIZES = {
    "any-release": (3, 3),
    "usher": (2, 3),
    "half-full": (2, 2),
    "impatient": (2, 2),
    "open-door": (2, 2),
    "half-way": (4, 1),
}
"""Processes and requests of runs that were larger after shrinking, or not known to be minimal."""


@pytest.mark.parametrize("name", exhibits())
def test_the_exhibit_is_minimal_where_the_checker_can_tell_and_explains(name: str) -> None:
    shown = shown_run(name)
    short = shown.short
    assert short.minimal == (name not in UNDECIDED), short.words
    assert UNDECIDED.get(name, "minimal: n=") in short.words
    requests = len(short.scenario.want) + len(short.scenario.elect)
    assert SIZES.get(name) in (None, (len(short.scenario.ids), requests))
    broken = next(verdict for verdict in shown.report.verdicts if verdict.name == shown.specimen.breaks)
    questions = unexplained(shown.report.trace, broken)
    assert (questions.faults, questions.suspicions) == (0, 0)


@pytest.mark.parametrize("name", exhibits())
def test_the_run_does_not_give_the_answer_away(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_exhibit(shown_run(name), answer=False, drawn=False)
    output = capsys.readouterr().out
    assert ZOO[name].algorithm.wrong not in output
    assert f"✗ {ZOO[name].breaks} broken" in output
    assert f"vez zoo {name} --answer" in output


def test_the_command_shows_the_smallest_run() -> None:
    shown = CliRunner().invoke(app, ["zoo", "impatient"])
    assert shown.exit_code == 0, shown.output
    assert f"✗ {ZOO['impatient'].breaks} broken" in shown.output
    assert "minimal: n=2, 1 request of 1, 1 request of 2" in " ".join(shown.output.split())


def test_the_answer_comes_with_the_code() -> None:
    shown = CliRunner().invoke(app, ["zoo", "twins", "--answer"])
    assert "Compare (timestamp, identifier)" in " ".join(shown.output.split())
    assert "older = self.timestamp < message.timestamp" in shown.output
    assert source(ZOO["twins"]).startswith("class Twins")


def test_the_list_as_text_and_json() -> None:
    listed = CliRunner().invoke(app, ["zoo"]).output
    assert all(name in listed for name in ZOO)
    entries = json.loads(CliRunner().invoke(app, ["zoo", "--json"]).output)["zoo"]
    assert [entry["name"] for entry in entries] == names()
    assert all("answer" not in entry for entry in entries)


def test_one_as_json() -> None:
    found = json.loads(CliRunner().invoke(app, ["zoo", "open-door", "--json"]).output)
    assert found["breaks"] == "exclusion"
    assert "inside together" in found["evidence"]
    assert found["scenario"]["algorithm"] == "zoo:open-door"
    assert any(event["event"] == "entered" for event in found["trace"])
    assert found["shrunk"]["minimal"]
    assert "answer" not in found
    answered = json.loads(CliRunner().invoke(app, ["zoo", "open-door", "--json", "--answer"]).output)
    assert answered["answer"] == ZOO["open-door"].answer


def test_an_unknown_name_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zoo", "twin"]) == 64
    assert "did you mean twins" in capsys.readouterr().err


def test_a_specimen_can_be_swept_like_any_algorithm() -> None:
    assert load_algorithm("zoo:twins") is find_specimen("twins").algorithm
    result = sweep(ZOO["twins"].world, 20, jobs=1)
    assert result.first_broken is not None
    assert result.first_broken.name == "exclusion"
