"""The written table of truth is true, and what the textbooks know to break is found without being told where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vez.algorithms import ALGORITHMS
from vez.check import Budget, Configuration, Limits, check
from vez.lab.verify import configurations, row
from vez.properties import Status
from vez.sim.scenario import Elect, Scenario

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verdicts.md"
FITS = 25_000
"""States of a cell that the tests check again; the page is written with a larger limit."""


def written(name: str) -> dict[str, list[str]]:
    """The rows of an algorithm on the page, by their command."""
    text = PAGE.read_text()
    assert f"## {name}\n" in text, f"run `vez verify -o {PAGE.name}`: {name} is not on the page"
    section = text.split(f"## {name}\n")[1].split("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in section.splitlines() if "`vez check" in line]
    return {cells[-1]: cells for cells in rows}


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_the_page_says_what_the_checker_says(name: str) -> None:
    rows = written(name)
    seen = 0
    for world, configuration in configurations(name, ALGORITHMS[name]):
        own = [command for command in rows if rows[command][0].strip("*") == world.name]
        cells = rows.pop(own[0])
        states = cells[-2]
        if states == "not exhausted" or int(states.replace(",", "")) > FITS:
            continue
        found = row(name, ALGORITHMS[name], world, configuration, 2 * FITS)
        assert f"`{found.command}`" == own[0]
        assert found.size == states
        assert [cell.text for cell in found.cells.values()] == cells[1:-2]
        seen += 1
    assert not rows, "the page has rows that the checker does not know"
    assert seen or name not in ("coordinator", "token-ring")


KNOWN = [
    ("F3", "coordinator-lease", 3, {"without": ("bounded_stay",)}, "exclusion"),
    ("F6", "quorum", 3, {"budget": Budget(crashes=1, recoveries=1), "amnesia": True}, "exclusion"),
    ("F7", "quorum", 3, {}, "deadlock_freedom"),
    ("F9", "ricart-agrawala-priority", 3, {}, "exclusion"),
    ("F10", "maekawa", 3, {}, "deadlock_freedom"),
    ("F13", "ring-anonymous", 2, {}, "uniqueness"),
]


@pytest.mark.parametrize(
    ("scenario", "name", "n", "options", "broken"), [known for known in KNOWN if known[1] in ALGORITHMS], ids=str
)
def test_what_is_known_to_break_is_found(scenario: str, name: str, n: int, options: dict, broken: str) -> None:  # type: ignore[type-arg]
    configuration = Configuration(Scenario(algorithm=name, n=n), ALGORITHMS[name], **options)
    report = check(configuration, (broken,), limits=Limits(1_000_000))
    assert report.verdicts[0].status is Status.BROKEN
    assert broken in report.counterexamples


@pytest.mark.skipif("ring-anonymous" not in ALGORITHMS, reason="ring-anonymous is not in the catalogue")
def test_one_candidate_of_the_anonymous_ring_leads_alone() -> None:
    scenario = Scenario(algorithm="ring-anonymous", n=2, elect=(Elect(process=1),))
    report = check(Configuration(scenario, ALGORITHMS["ring-anonymous"]), ("uniqueness", "termination"))
    assert {verdict.status for verdict in report.verdicts} == {Status.HOLDS}


@pytest.mark.skipif("maekawa-fair" not in ALGORITHMS, reason="maekawa-fair is not in the catalogue")
def test_the_fair_votes_do_not_deadlock() -> None:
    scenario = Scenario(algorithm="maekawa-fair", n=3)
    report = check(Configuration(scenario, ALGORITHMS["maekawa-fair"]), ("deadlock_freedom",))
    assert report.verdicts[0].status is Status.HOLDS


def test_a_coordinator_elected_by_bully_needs_the_perfect_detector() -> None:
    name = "elected-coordinator"
    worlds = {world.name: asked for world, asked in configurations(name, ALGORITHMS[name])}
    bully = worlds["1 wrong suspicion, elected by bully"]
    report = check(bully, ("exclusion",), limits=Limits(1_200_000), first=True)
    (found,) = [cells for cells in written(name).values() if "elected by bully" in cells[0]]
    assert found[1] == f"**broken** ({report.counterexamples['exclusion'].steps} steps)"


def test_lamport_is_exhausted_where_nothing_goes_wrong() -> None:
    (found,) = [cells for cells in written("lamport").values() if cells[0] == "nothing goes wrong"]
    assert found[1:4] == ["holds", "holds", "holds"]


def test_every_command_on_the_page_names_its_own_algorithm() -> None:
    for name, section in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        assert all(command.startswith(name) for command in re.findall(r"`vez check ([^`]*)`", section))
