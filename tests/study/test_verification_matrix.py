"""The written verification matrix is correct, and it has the violations that textbooks describe."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from tests.verdicts_page import PAGE, written
from vez.catalogue.algorithms import ALGORITHMS as CATALOGUE
from vez.cli.app import run
from vez.cli.verify import MAX_STATES
from vez.judge.properties import Status
from vez.locks.models.recipes import RECIPES
from vez.study.verify.matrix import FEWEST, Row, commanded, configuration, row, worlds
from vez.study.verify.page import text
from vez.study.verify.world import World
from vez.worlds.check import Budget, Configuration, Limits, check
from vez.worlds.sim.scenario import Elect, Scenario

ALGORITHMS = CATALOGUE | RECIPES
"""The algorithms and recipes in the matrix."""

FITS = 25_000
"""Largest number of states of a row that `make test-long` checks again; the page is written with a larger limit."""
QUICK = 1_000
"""Largest number of states of a row that `make test` checks again."""
DRAWN = 4_000
"""Largest number of states of a row whose drawing commands the tests run."""
RUN = re.compile(r"^- (\w+) \((\d+) steps?(, then a loop)?\), .*: `(vez check [^`]*)`$", re.MULTILINE)


@pytest.mark.parametrize("name", list(ALGORITHMS))
@pytest.mark.parametrize(
    ("least", "most"), [(0, QUICK), pytest.param(QUICK, FITS, marks=pytest.mark.long)], ids=["small", "large"]
)
def test_the_page_says_what_the_checker_does(name: str, least: int, most: int) -> None:
    rows = written(name)
    for world in worlds(name, ALGORITHMS[name]):
        for n in (0, FEWEST):
            asked = configuration(name, ALGORITHMS[name], world, n)
            command = f"`{commanded(name, world, len(asked.ids))}`"
            if n and command not in rows:
                continue
            *_, states, _ = cells = rows.pop(command, None) or pytest.fail(f"the page lacks {command}")
            if states.startswith("more than") or not least < int(states.replace(",", "")) <= most:
                continue
            found = row(name, ALGORITHMS[name], world, 2 * most, n=n)
            assert (found.size, f"`{found.command}`") == (states, command)
            assert cells[1:-2] == [str(found.n), *map(text, found.cells.values())]
            if world.n:
                break
    assert not rows, "the page has rows that the checker does not know"


def test_every_broken_cell_has_the_command_that_draws_it() -> None:
    """The commands below the tables, computed again from the tables."""
    page = PAGE.read_text()
    expected = []
    for name, algorithm in ALGORITHMS.items():
        rows = written(name)
        for world in worlds(name, algorithm):
            for n in dict.fromkeys((len(configuration(name, algorithm, world).ids), FEWEST)):
                cells = rows.pop(f"`{commanded(name, world, n)}`", None)
                expected += drawings(name, world, n, cells, page) if cells else []
    assert sorted(expected) == sorted(RUN.findall(page))
    assert len(expected) == page.count("**broken** (") > 300


def drawings(name: str, world: World, n: int, cells: list[str], page: str) -> list[tuple[str, ...]]:
    """The lines that the page should have for one of its rows: property, steps, loop and command."""
    head = page.split(f"## {name}\n")[1].split("| world | n | ")[1].split(" | states")[0].split(" | ")
    states = None if cells[-2].startswith("more than") else int(cells[-2].replace(",", ""))
    line = Row(algorithm=name, world=world, n=n, states=states, cells={}, promised=(), kept=True)
    broken = re.compile(r"\*\*broken\*\* \((\d+) steps?(, then a loop)?\)")
    found = zip(world.properties or head, map(broken.fullmatch, cells[2:-2]), strict=True)
    return [(str(title), cell[1], cell[2] or "", line.drawing(title, MAX_STATES)) for title, cell in found if cell]


def small_runs() -> list[tuple[str, ...]]:
    """For each algorithm the broken cells with the shortest and the longest run, and a loop, of its smaller tables."""
    chosen: dict[str, tuple[str, ...]] = {}
    for name in ALGORITHMS:
        small = {
            command.strip("`")
            for command, cells in written(name).items()
            if not cells[-2].startswith("more than") and int(cells[-2].replace(",", "")) <= DRAWN
        }
        runs = [one for one in RUN.findall(PAGE.read_text()) if one[3].split(" --property")[0] in small]
        runs = sorted((one for one in runs if one[3].split()[2] == name), key=lambda one: int(one[1]))
        for one in [*runs[:1], *runs[-1:], *[one for one in runs if one[2]][:1]]:
            chosen[one[3]] = one
    return list(chosen.values())


@pytest.mark.long
@pytest.mark.parametrize(("title", "steps", "loop", "command"), small_runs())
def test_the_commands_of_the_page_draw_what_it_says(
    title: str, steps: str, loop: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shlex.split(command)[1:])
    printed = capsys.readouterr().out
    times = f"{steps} step{'s' * (steps != '1')}"
    repeated = ", then round in a loop" if loop else ""
    assert re.search(rf"run( \(if ticks count as steps\))?\s+in which {title} is broken, {times}{repeated}:", printed)
    assert f"✗ {title} broken" in printed
    assert ("from here on for ever" in printed) == bool(loop)


def test_the_page_links_to_nothing_that_is_not_there() -> None:
    assert not PAGE.with_suffix("").exists()
    assert "](" not in PAGE.read_text()


KNOWN = [
    ("F3", "coordinator-lease", 3, {"without": ("bounded_stay",)}, "exclusion"),
    ("F6", "quorum", 3, {"budget": Budget(crashes=1, recoveries=1), "amnesia": True}, "exclusion"),
    ("F7", "quorum", 3, {}, "deadlock_freedom"),
    ("F9", "ricart-agrawala-priority", 3, {}, "exclusion"),
    ("F10", "maekawa", 3, {}, "deadlock_freedom"),
    ("F13", "ring-anonymous", 2, {}, "uniqueness"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("scenario", "name", "n", "options", "broken"), [known for known in KNOWN if known[1] in ALGORITHMS], ids=str
)
def test_what_is_known_to_break_is_found(
    scenario: str, name: str, n: int, options: dict[str, Any], broken: str
) -> None:
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
    """Two processes show it. Three have too many states: nothing is broken in those that are seen, and nothing holds."""
    name = "elected-coordinator"
    (world,) = [world for world in worlds(name, ALGORITHMS[name]) if world.name == "1 wrong suspicion"]
    pages = {cells[1]: cells[2] for cells in written(name).values() if cells[0].strip("*") == world.name}
    assert pages == {"2": "**broken** (8 steps)", "3": "not exhausted"}
    two = check(configuration(name, ALGORITHMS[name], world, 2), ("exclusion",), first=True)
    assert two.counterexamples["exclusion"].steps == 8
    three = check(configuration(name, ALGORITHMS[name], world), ("exclusion",), limits=Limits(500_000), first=True)
    assert three.verdicts[0].status is Status.UNDECIDED


def test_lamport_is_exhausted_where_nothing_goes_wrong() -> None:
    (found,) = [cells for cells in written("lamport").values() if cells[0] == "nothing goes wrong"]
    assert found[2:5] == ["holds", "holds", "holds"]


def test_every_command_on_the_page_names_its_own_algorithm() -> None:
    for name, section in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        assert all(command.startswith(name) for command in re.findall(r"`vez check ([^`]*)`", section))
