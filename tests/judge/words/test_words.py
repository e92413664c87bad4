"""The texts of both languages are complete, have the same values, and are used."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from string import Formatter

import pytest

import vez
from vez.catalogue.algorithms import find
from vez.catalogue.load import load_algorithm
from vez.core.assumptions import Property
from vez.errors import UnknownName
from vez.judge.properties import Status, judge
from vez.judge.properties.verdict import broken
from vez.judge.words import LANGUAGES, plain, property_name, said, scenario_title, status_words
from vez.judge.words.names import PROPERTIES, STATUSES
from vez.judge.words.sentence import SENTENCES
from vez.judge.words.titles import TITLES
from vez.judge.words.verdicts import NOUNS
from vez.worlds.check import Configuration, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import load

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "scenarios").glob("*.toml"))
PACKAGE = Path(vez.__file__).parent
SOURCE = "\n".join(
    path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "words"
)


def fields(template: str) -> list[tuple[str, str]]:
    return sorted((name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name)


@pytest.mark.parametrize("key", SENTENCES)
def test_both_languages_say_the_same_values(key: str) -> None:
    english, portuguese = SENTENCES[key]
    assert fields(english) == fields(portuguese)
    assert english != portuguese or not re.search(r"[a-z]", re.sub(r"{.*?}", "", english))


def test_every_sentence_is_used() -> None:
    used = set(re.findall(r'"(\w+)"', SOURCE))
    made = {f"{verb}{end}" for verb in ("name", "names") for end in ("", "_dead", "_nobody")}
    made |= {key for key in SENTENCES if key.startswith(("fair_", "step_", "done_", "ended_"))}
    made |= {f"{asked}_{often}" for asked in ("requests", "elections") for often in ("each", "of", "without_end")}
    assert set(SENTENCES) - used - made - {"plain"} == set()
    assert {spec for texts in SENTENCES.values() for _, spec in fields(texts[0])} >= set(NOUNS)


def test_every_property_and_status_has_a_name_in_both() -> None:
    assert set(PROPERTIES) >= {str(one) for one in Property}
    assert set(STATUSES) == {str(one) for one in Status} | {"holds in one run"}
    assert [property_name("exclusion", language) for language in LANGUAGES] == ["exclusion", "exclusão mútua"]
    assert property_name("of_ones_own", "pt") == "of ones own"
    assert [status_words("holds in runs", runs, "pt") for runs in (1, 2000)] == [
        "vale em 1 execução",
        "vale em 2,000 execuções",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_scenario_has_a_portuguese_title(path: Path) -> None:
    title = load(path).title
    assert title in TITLES, "add it to src/vez/judge/words/titles.py"
    assert scenario_title(title, "pt") != scenario_title(title, "en") == title


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verdicts_are_data_in_every_scenario(path: Path) -> None:
    scenario: Scenario = load(path)
    run = simulate(scenario, load_algorithm(scenario.algorithm))
    assert run.trace is not None
    for verdict in judge(run.trace):
        assert verdict.said.key != "plain", verdict.evidence
        assert verdict.said.told("pt") != verdict.evidence == verdict.said.told("en")


def test_who_and_when_in_both_languages() -> None:
    sentence = said("nobody_got_in_since", who=(3, 1), since=1500, end=20_000)
    assert str(sentence) == "processes 1, 3 wanted in and nobody got in from 1.5 ms to the end at 20 ms"
    assert sentence.told("pt") == "os processos 1, 3 sem acesso: ninguém entrou de 1.5 ms até o fim, em 20 ms"
    many = said("still_waited", who=tuple(range(1, 11)), end=1000)
    assert str(many).startswith("10 processes (1, 2, 3, 4, 5, …) still waited")
    assert many.told("pt").startswith("10 processos (1, 2, 3, 4, 5, …): ainda à espera")
    assert said("no_two_at_once", entries=1).told("pt") == "1 entrada, nunca duas ao mesmo tempo"
    nested = said("within_the_bound", counted=said("at_most_bypasses", count=2), bound=3)
    assert nested.told("pt") == "no máximo 2 ultrapassagens, o limite é 3"


def test_who_leads_is_alive() -> None:
    assert said("leads_alive", leader=2).told("en") == "process 2 leads, and is alive"
    assert said("lead_alive", who=(2, 3)).told("en") == "processes 2, 3 lead, and are alive"


def test_processes_have_the_names_of_the_scenario() -> None:
    names = {4: "Part1 (4)", 5: "Part2 (5)"}
    sentence = said("inside_together", one=4, other=5, start=6_000, end=10_000)
    assert sentence.told("en", names) == "processes Part1 (4) and Part2 (5) were inside together from 6 to 10 ms"
    assert said("waited_in_vain", who=(5,), since=0, end=1_000).told("pt", names) == (
        "o processo Part2 (5) esperou em vão de 0 ms até o fim, em 1 ms"
    )
    assert str(sentence) == "processes 4 and 5 were inside together from 6 to 10 ms"


def test_a_sentence_is_a_value() -> None:
    sentence = said("leads_from", leader=3, since=1000)
    assert pickle.loads(pickle.dumps(sentence)) == sentence  # noqa: S301 - our own
    assert len({sentence, said("leads_from", leader=3, since=1000)}) == 1
    with pytest.raises(UnknownName, match="leads_fro"):
        said("leads_fro", leader=3)
    assert broken("mine", "text {of} mine").said == plain("text {of} mine")
    assert plain("text {of} mine").told("pt") == "text {of} mine"


def test_verdicts_of_the_checker_are_data() -> None:
    for name in ("coordinator", "maekawa", "bully"):
        for verdict in check(Configuration(Scenario(algorithm=name, n=3), find(name))).verdicts:
            assert verdict.said.key != "plain"
            assert verdict.said.told("pt") != verdict.evidence
    looped = said("steps_repeat", what=said("in_steps", steps=7, what=said("nobody_alive")), lap=2)
    assert str(looped) == "in 7 steps: nobody is left alive; the last 2 steps repeat for ever"
    assert looped.told("pt") == "em 7 passos: ninguém está vivo; os últimos passos (2 passos) se repetem para sempre"
