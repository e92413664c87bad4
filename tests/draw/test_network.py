"""The network view: the positions of processes, and what a browser shows at given moments."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

from vez.catalogue.algorithms import find
from vez.core.drawn_view import View
from vez.core.trace import Crashed, Header, Trace, Viewed
from vez.draw import html, text
from vez.draw.trace.network import Network, network
from vez.draw.trace.stress import lay_out
from vez.judge.properties import judge
from vez.judge.properties.verdict import Verdict
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, load

from .browser import Page, look, open_page
from .traces import run

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SIX = (3, 6, 1, 5, 2, 4)


def simulated(scenario: Scenario) -> tuple[Trace, tuple[Verdict, ...]]:
    trace = simulate(scenario, find(scenario.algorithm)).trace
    assert trace is not None
    return trace, judge(trace)


def laid_out(topology: str, count: int, edges: tuple[tuple[int, int], ...] = (), total: int | None = None) -> Network:
    return network(Header(1, "x", "other", tuple(range(1, count + 1)), topology, edges), total or count)


def closest(found: Network) -> float:
    return min(math.dist((a.x, a.y), (b.x, b.y)) for a, b in combinations(found.nodes, 2))


@pytest.mark.parametrize("topology", ["ring", "ring2", "star", "complete", "grid", "graph", "</script>"])
@pytest.mark.parametrize("count", [1, 2, 3, 9, 24])
def test_everybody_has_room(topology: str, count: int) -> None:
    path = tuple((one, one + 1) for one in range(1, count))
    found = laid_out(topology, count, path)
    assert len(found.nodes) == count
    assert count == 1 or closest(found) > 2 * 18
    assert all(0 <= end < count for edge in found.edges for end in edge)


@pytest.mark.parametrize(
    ("topology", "count", "edges"),
    [
        ("ring", 6, 6),
        ("ring", 2, 2),
        ("ring2", 6, 6),
        ("ring2", 2, 1),
        ("star", 6, 5),
        ("complete", 6, 15),
        ("ring", 1, 0),
    ],
)
def test_edges_follow_from_the_topology(topology: str, count: int, edges: int) -> None:
    assert len(set(laid_out(topology, count).edges)) == edges


def test_edges_of_a_foreign_trace_are_checked() -> None:
    found = laid_out("graph", 3, ((1, 2), (2, 1), (2, 2), (1, 99), (3, 2)))
    assert found.edges == ((0, 1), (1, 2))


def test_a_ring_stands_clockwise_and_is_open_where_somebody_is_left_out() -> None:
    north, east, *_ = laid_out("ring", 4).nodes
    assert (north.x, north.y, north.side) == (0, -205, (0, -1))
    assert (east.x, east.y) == (205, 0)
    open_ring = laid_out("ring", 24, total=100)
    assert open_ring.missing == 76
    assert (23, 0) not in open_ring.edges


def test_a_graph_is_laid_out_without_needless_crossings() -> None:
    scenario = load(SCENARIOS / "15-yoyo.toml")
    ids = tuple(scenario.ids)
    edges = [(ids.index(one), ids.index(other)) for one, other in scenario.edges]
    points = lay_out(len(ids), edges, 100)
    assert points == lay_out(len(ids), edges, 100)
    for (a, b), (c, d) in combinations(edges, 2):
        assert len({a, b, c, d}) < 4 or not crosses(points[a], points[b], points[c], points[d])
    assert all(60 < math.dist(points[a], points[b]) < 160 for a, b in edges)


def crosses(p: tuple[float, float], q: tuple[float, float], r: tuple[float, float], s: tuple[float, float]) -> bool:
    def turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    return turn(p, q, r) * turn(p, q, s) < 0 and turn(r, s, p) * turn(r, s, q) < 0


def test_parts_that_are_not_joined_do_not_lie_on_each_other() -> None:
    points = lay_out(6, [(0, 1), (1, 2), (3, 4), (4, 5)], 100)
    assert min(math.dist(one, other) for one, other in combinations(points, 2)) > 60


@pytest.mark.parametrize("algorithm", ["franklin", "tournament", "dolev-klawe-rodeh", "itai-rodeh"])
def test_one_is_active_in_the_end(algorithm: str) -> None:
    trace, _ = simulated(Scenario(algorithm=algorithm, ids=SIX))
    last = {event.process: event.view.active for event in trace if isinstance(event, Viewed)}
    assert sorted(last) == [1, 2, 3, 4, 5, 6]
    assert sum(active is True for active in last.values()) == 1


def test_views_are_told_when_they_change_and_no_picture_in_text_shows_them() -> None:
    trace, verdicts = simulated(Scenario(algorithm="franklin", ids=SIX))
    views: dict[int, View] = {}
    for event in trace:
        if isinstance(event, Viewed):
            assert views.get(event.process, View()) != event.view
            views[event.process] = event.view
    plain = Trace(trace.header, tuple(event for event in trace if not isinstance(event, Viewed)))
    assert text(plain, verdicts) == text(trace, verdicts)
    assert judge(plain) == verdicts


def test_who_comes_back_from_a_crash_tells_its_view_again() -> None:
    scenario = Scenario(algorithm="franklin", ids=SIX, crash=(Crash(process=6, at_ms=0.5, recover_ms=0.7),))
    trace, _ = simulated(scenario)
    events = [event for event in trace if event.process == 6 and isinstance(event, Viewed | Crashed)]
    assert [type(event) for event in events] == [Viewed, Crashed, Viewed]


def nodes_of(page: Page) -> dict[str, str]:
    return {node["data-process"]: node["data-state"] for node in page.having("node")}


def edges_of(page: Page) -> dict[tuple[str, str], dict[str, str]]:
    return {(edge["data-from"], edge["data-to"]): edge for edge in page.having("edge")}


def quiet(page: Page) -> None:
    assert page.body["data-ready"] == "true"
    assert page.body["data-errors"] == "0"
    assert page.body["data-view"] == "network"


@pytest.mark.browser
def test_a_ring_with_active_and_passive_processes(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *simulated(Scenario(algorithm="franklin", ids=SIX)), "view=network&t=1.5")
    quiet(page)
    assert "".join(nodes_of(page)) == "361524"
    assert {name for name, state in nodes_of(page).items() if state == "active"} == {"4", "5", "6"}
    assert {name for name, state in nodes_of(page).items() if state == "passive"} == {"1", "2", "3"}
    assert list(edges_of(page)) == [("3", "6"), ("6", "1"), ("1", "5"), ("5", "2"), ("2", "4"), ("4", "3")]
    assert sorted(one["data-label"] for one in page.having("flight")) == [
        f"Candidate({active}, 2{rightward})" for active in (4, 5, 6) for rightward in ("", ", rightward")
    ]


@pytest.mark.browser
def test_edges_of_a_graph_point_from_the_smaller_to_the_larger_at_first(chromium: str, tmp_path: Path) -> None:
    before = look(chromium, tmp_path, *simulated(load(SCENARIOS / "15-yoyo.toml")), "view=network&t=1.5")
    quiet(before)
    assert len(nodes_of(before)) == 11
    edges = edges_of(before)
    assert len(edges) == 13
    assert {edge["data-direction"] for edge in edges.values()} == {"forward"}
    assert {name for name, state in nodes_of(before).items() if state == "active"} == {"2", "3", "4", "8", "9"}


@pytest.mark.browser
def test_edges_of_a_graph_turn_and_are_pruned(chromium: str, tmp_path: Path) -> None:
    found = simulated(load(SCENARIOS / "15-yoyo.toml"))
    during = edges_of(look(chromium, tmp_path, *found, "view=network&t=2.5"))
    assert during["3", "5"]["data-direction"] == "turning"
    after = look(chromium, tmp_path, *found, "view=network&t=5.4")
    edges = edges_of(after)
    assert edges["3", "5"]["data-direction"] == "backward"
    assert edges["2", "5"]["data-direction"] == "forward"
    assert {pair for pair, edge in edges.items() if "pruned" in edge["class"].split()} == {("4", "6"), ("6", "7")}
    assert {name for name, state in nodes_of(after).items() if state == "active"} == {"2"}


@pytest.mark.browser
def test_a_partition_is_seen(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *simulated(load(SCENARIOS / "17-partition-bully.toml")), "view=network&t=45")
    quiet(page)
    edges = edges_of(page)
    assert len(edges) == 10
    cut = {pair for pair, edge in edges.items() if edge["data-cut"] == "both"}
    assert cut == {(one, other) for one in "123" for other in "45"}
    assert [name for name, state in nodes_of(page).items() if state == "leader"] == ["3", "5"]
    assert {node["data-process"] for node in page.having("violates")} == {"3", "5"}


@pytest.mark.browser
def test_a_lost_message_ends_in_a_cross(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *run("ring-lost"), "view=network&step=3")
    quiet(page)
    assert [one["data-ends"] for one in page.having("flight")].count("cross") == 1
    assert {edge["data-direction"] for edge in page.having("edge")} == {"forward"}


@pytest.mark.browser
def test_views_change_by_key_and_the_words_by_language(chromium: str, tmp_path: Path) -> None:
    script = """
      const press = (name) => dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true }));
      press("v"); document.body.dataset.first = document.body.dataset.view;
      press("v"); document.body.dataset.second = document.body.dataset.view;
      document.getElementById("tab-network").click();
    """
    page = html(*run("coordinator")).replace('body.dataset.ready = "true";', f'body.dataset.ready = "true";{script}')
    found = open_page(chromium, tmp_path, page, "lang=pt&step=3")
    quiet(found)
    assert (found.body["data-first"], found.body["data-second"]) == ("network", "spacetime")
    assert found.text["tab-network"] == "Estrela"
    assert "1 recebe Request de 4" in found.text["now"]


@pytest.mark.browser
def test_more_than_can_be_drawn_is_said(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *simulated(Scenario(algorithm="chang-roberts", n=40)), "view=network&t=2.5")
    quiet(page)
    assert len(page.having("node")) == 24
    assert len(page.having("edge")) == 23
    assert page.text["network-more"] == "16 more processes are not drawn"


def test_every_language_has_every_word() -> None:
    source = (Path(__file__).parents[2] / "src/vez/draw/trace/player/strings.js").read_text(encoding="utf-8")
    tables = source.partition("const asked")[0].partition("  pt: {")
    assert tables[1]
    english, portuguese = (set(words_of(table)) for table in (tables[0], tables[2]))
    assert len(english) > 60
    assert english == portuguese


def words_of(table: str) -> list[str]:
    return re.findall(r'(\w+): "', table)
