"""The written table of truth is true, and what the textbooks know to break is found without being told where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vez.algorithms import ALGORITHMS
from vez.check import Budget, Configuration, Limits, check
from vez.properties import Status
from vez.sim.scenario import Elect, Scenario
from vez.study.verify.matrix import FEWEST, Cell, commanded, configuration, row, worlds

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verdicts.md"
FITS = 25_000
"""States of a cell that the tests check again; the page is written with a larger limit."""
LINK = re.compile(r"\[picture\]\(([^)]*)\)")


def written(name: str) -> dict[str, list[str]]:
    """The rows of an algorithm on the page, by their command; those of the last table have the world for a name."""
    text = PAGE.read_text()
    assert f"## {name}\n" in text, f"run `vez verify -o {PAGE.name}`: {name} is not on the page"
    section = text.split(f"## {name}\n")[1].split("\n## ")[0]
    order = [line for line in text.split("## The order of requests")[1].splitlines() if line.startswith(f"| {name} |")]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "`vez check" in line] + order
    rows = [line.strip("| \n").split(" | ") for line in lines]
    return {cells[-1]: cells for cells in rows}


def shown(cell: Cell, text: str) -> str:
    """A cell as the page has it, with whatever picture the page links to."""
    link = re.search(r"\[picture\]\(([^)]*)\), ", text)
    if cell.status != "broken":
        return f"{cell.status} ({cell.worst})" if cell.worst else cell.status
    assert link is not None, "a broken cell has a picture"
    return f"**broken** ({link[0]}{cell.length})"


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_the_page_says_and_shows_what_the_checker_does(name: str) -> None:
    rows = written(name)
    for world in worlds(name, ALGORITHMS[name]):
        for n in (0, FEWEST):
            asked = configuration(name, ALGORITHMS[name], world, n)
            command = f"`{commanded(name, world, len(asked.ids))}`"
            if n and command not in rows:
                continue
            *_, states, _ = cells = rows.pop(command, None) or pytest.fail(f"the page lacks {command}")
            if states == "not exhausted" or int(states.replace(",", "")) > FITS:
                continue
            found = row(name, ALGORITHMS[name], world, 2 * FITS, n=n, pictures=True)
            assert (found.size, f"`{found.command}`") == (states, command)
            assert cells[1] == str(found.n)
            for written_cell, (title, cell) in zip(cells[2:-2], found.cells.items(), strict=True):
                assert written_cell == shown(cell, written_cell)
                if cell.status == "broken":
                    assert (PAGE.parent / LINK.findall(written_cell)[0]).read_text() == found.pictures[title]
            if world.n:
                break
    assert not rows, "the page has rows that the checker does not know"


def test_every_picture_is_linked_and_every_link_leads_to_one() -> None:
    linked = set(LINK.findall(PAGE.read_text()))
    assert linked == {f"{PAGE.stem}/{path.name}" for path in PAGE.with_suffix("").iterdir()}
    assert len(linked) > 50


def test_an_endless_run_is_drawn_as_a_loop() -> None:
    text = PAGE.read_text()
    found = re.findall(r"\[picture\]\(([^)]*)\), \d+ steps?(, then a loop)?", text)
    endless = {link for link, loop in found if loop}
    assert endless
    assert all("from here on for ever" in (PAGE.parent / link).read_text() for link in endless)


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
    (world,) = [world for world in worlds(name, ALGORITHMS[name]) if world.name == "1 wrong suspicion"]
    report = check(configuration(name, ALGORITHMS[name], world), ("exclusion",), limits=Limits(1_200_000), first=True)
    found = next(cells for cells in written(name).values() if "1 wrong suspicion" in cells[0])
    assert found[2].endswith(f", {report.counterexamples['exclusion'].steps} steps)")


def test_lamport_is_exhausted_where_nothing_goes_wrong() -> None:
    (found,) = [cells for cells in written("lamport").values() if cells[0] == "nothing goes wrong"]
    assert found[2:5] == ["holds", "holds", "holds"]


def test_every_command_on_the_page_names_its_own_algorithm() -> None:
    for name, section in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        assert all(command.startswith(name) for command in re.findall(r"`vez check ([^`]*)`", section))
