"""Every mistake of the zoo is caught within a bounded number of seeds, and only the mistake is to blame."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from vez.cli.app import app, run
from vez.core.trace import Sent
from vez.properties import Status
from vez.study import load_algorithm, sweep
from vez.study.exhibit import SEEDS, Exhibit, catch, exhibit, source
from vez.study.search import first_break
from vez.zoo import ZOO, find_specimen


def names() -> list[str]:
    return list(ZOO)


@pytest.fixture(scope="module")
def exhibits() -> dict[str, Exhibit]:
    return {name: exhibit(specimen) for name, specimen in ZOO.items()}


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


@pytest.mark.parametrize("name", names())
def test_the_right_algorithm_does_not_fail_in_the_same_world(name: str) -> None:
    specimen = ZOO[name]
    worlds = (specimen.world.but(seed=seed) for seed in range(SEEDS))
    parameters = set(specimen.world.parameters) - set(specimen.honest.__struct_fields__)
    assert not parameters, "the right algorithm must know the parameters of the world"
    assert first_break(worlds, specimen.honest, [specimen.breaks, *specimen.honest.guarantees]) is None


@pytest.mark.parametrize("name", names())
def test_the_exhibit_is_short_and_still_fails(name: str, exhibits: dict[str, Exhibit]) -> None:
    shown = exhibits[name]
    broken = [verdict.name for verdict in shown.report.verdicts if verdict.status is Status.BROKEN]
    assert shown.specimen.breaks in broken
    assert sum(isinstance(event, Sent) for event in shown.report.trace) <= 60


@pytest.mark.parametrize("name", names())
def test_the_run_does_not_give_the_answer_away(name: str) -> None:
    shown = CliRunner().invoke(app, ["zoo", name])
    assert shown.exit_code == 0, shown.output
    assert ZOO[name].algorithm.wrong not in shown.output
    assert f"✗ {ZOO[name].breaks} broken" in shown.output
    assert f"vez zoo {name} --answer" in shown.output


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
