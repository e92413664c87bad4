"""The scenarios with known ends: each ends as it says, and its picture is a golden file beside it.

`pytest tests/test_scenarios.py --rewrite-golden` writes the pictures anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vez import draw
from vez.catalogue.load import load_algorithm
from vez.core.trace import Crashed, Delivered, Elected, Entered, Fired, Paused, Sent, Status, Trace, Wrote
from vez.judge.properties import History
from vez.study.report import Report, run_and_report, unmet_expectations
from vez.worlds.sim.scenario import load

FOLDER = Path(__file__).parent.parent / "scenarios"
FILES = sorted(FOLDER.glob("*.toml"))


def play(name: str) -> Report:
    scenario = load(FOLDER / f"{name}.toml")
    return run_and_report(scenario, load_algorithm(scenario.algorithm), debug=True)


def entries(trace: Trace) -> list[int]:
    return [event.process for event in trace if isinstance(event, Entered)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_scenario_ends_as_it_says(path: Path, golden: Callable[[Path, str], None]) -> None:
    scenario = load(path)
    assert scenario.title, "a scenario says in a few words what it shows"
    assert scenario.expect.broken or scenario.expect.holds or scenario.expect.leader is not None
    found = run_and_report(scenario, load_algorithm(scenario.algorithm))
    assert unmet_expectations(scenario.expect, found) == []
    golden(path.with_suffix(".txt"), draw.text(found.trace, found.verdicts, width=110) + "\n")


def test_01_grants_follow_the_order_of_arrival_and_the_queue_is_that_of_the_text() -> None:
    trace = play("01-coordinator").trace
    assert entries(trace) == [1, 2, 3]
    statuses = [event.text for event in trace if isinstance(event, Status)]
    assert statuses == [
        "free, queue []",
        "free, queue [1]",
        "busy, queue []",
        "busy, queue [2]",
        "free, queue [2]",
        "free, queue [2, 3]",
        "busy, queue [3]",
        "free, queue [3]",
        "busy, queue []",
        "free, queue []",
    ]


def test_02_the_next_one_gets_in_when_the_lease_has_run_out() -> None:
    trace = play("02-lease-holder-dies").trace
    (crash,) = (event for event in trace if isinstance(event, Crashed))
    (timeout,) = (event for event in trace if isinstance(event, Fired))
    third = next(event for event in trace if isinstance(event, Entered) and event.process == 3)
    assert entries(trace) == [1, 2, 3]
    assert crash.process == 2
    assert crash.at < timeout.at < third.at
    granted = next(event for event in trace if isinstance(event, Sent) and event.to == 2 and event.kind == "Grant")
    assert timeout.at - granted.at == 10_000


def test_03_two_inside_and_the_late_write_refused() -> None:
    found = play("03-lease-holder-slow")
    stays = History(found.trace).stays
    second, third = stays[1], stays[2]
    assert third.entered_at is not None
    assert second.left_at is not None
    assert third.entered_at < second.left_at
    assert any(isinstance(event, Paused) and event.process == 2 for event in found.trace)
    assert [(w.process, w.token) for w in found.trace if isinstance(w, Wrote) and not w.accepted] == [(2, 2)]


def test_04_the_token_passes_2_and_4() -> None:
    trace = play("04-token-ring").trace
    assert entries(trace) == [3, 1, 3]
    hops = [event.process for event in trace if isinstance(event, Sent)]
    assert hops[:10] == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]


def test_08_the_older_claim_first() -> None:
    trace = play("08-ricart-agrawala").trace
    assert entries(trace) == [2, 1]
    asked = {
        (event.process, event.fields["timestamp"])
        for event in trace
        if isinstance(event, Sent) and event.kind == "Request"
    }
    assert asked == {(1, 41), (2, 34)}
    replies = [(event.process, event.to) for event in trace if isinstance(event, Sent) and event.kind == "Reply"]
    assert sorted(replies[:3]) == [(1, 2), (3, 1), (3, 2)]
    assert replies[3] == (2, 1)  # deferred until it left


def test_11_two_and_three_stand_then_one_and_four_leads() -> None:
    trace = play("11-bully").trace
    messages = trace.messages()
    handled = [
        (messages[e.message].kind, messages[e.message].process, e.process) for e in trace if isinstance(e, Delivered)
    ]
    for answer in [
        ("Answer", 4, 2),
        ("Answer", 4, 3),
        ("Answer", 3, 2),
        ("Answer", 2, 1),
        ("Answer", 3, 1),
        ("Answer", 4, 1),
    ]:
        assert answer in handled
    assert [event.leader for event in trace if isinstance(event, Elected)] == [5, 5, 5, 5, 5, 4, 4, 4, 4]
    announced = {(sender, to) for kind, sender, to in handled if kind == "Coordinator"}
    assert announced == {(5, 1), (5, 2), (5, 3), (5, 4), (4, 1), (4, 2), (4, 3)}


def test_11_the_seven_steps_come_in_the_order_of_the_text() -> None:
    trace = play("11-bully-seven-steps").trace
    sent = [(event.kind, event.process, event.to) for event in trace if isinstance(event, Sent)]
    assert sent == [
        *[("Coordinator", 5, to) for to in (1, 2, 3, 4)],  # 1: 5 leads
        *[("Election", 2, to) for to in (3, 4, 5)],  # 2: 2 and 3 stand
        *[("Election", 3, to) for to in (4, 5)],
        ("Answer", 3, 2),  # 3: 3 and 4 answer
        ("Answer", 4, 2),
        ("Answer", 4, 3),
        *[("Election", 1, to) for to in (2, 3, 4, 5)],  # 4: 1 stands
        *[("Answer", process, 1) for process in (2, 3, 4)],  # 5: 2, 3 and 4 answer
        ("Election", 4, 5),  # 6: 4 stands, and 5 does not answer
        *[("Coordinator", 4, to) for to in (1, 2, 3, 5)],  # 7: 4 leads, and tells all
    ]


def test_19_six_processes_need_three_rounds() -> None:
    sent = [event for event in play("19-franklin").trace if isinstance(event, Sent) and event.kind == "Candidate"]
    standing = [{event.fields["candidate"] for event in sent if event.fields["round"] == turn} for turn in (1, 2, 3)]
    assert standing == [{1, 2, 3, 4, 5, 6}, {4, 5, 6}, {6}]


def test_23_only_bully_changes_its_leader_when_a_process_comes_back() -> None:
    changes = {
        name: [reign.leader for reign in History(play(f"23-stability-{name}").trace).reigns]
        for name in ("bully", "bully-stable")
    }
    assert changes == {"bully": [5, 4, 5, 4, 5], "bully-stable": [5, 4]}


def test_26_the_second_request_is_begun_after_the_first_response() -> None:
    trace = play("26-blocking-clients").trace
    done = [(event.kind, event.at) for event in trace if isinstance(event, Sent) and event.kind == "Response"]
    assert done == [("Response", 4_000), ("Response", 7_000)]
    statuses = [event.text for event in trace if isinstance(event, Status) and event.process == 0]
    idle = "idle, waits for a request"
    assert statuses == [idle, "processes the request of 1", "processes the request of 2", idle]


def test_names_are_shown_in_every_picture() -> None:
    report = play("05-quorum")
    assert report.trace.header.names == ("Coord1", "Coord2", "Coord3", "Part1", "Part2")
    for picture in (draw.text, draw.mermaid, draw.svg, draw.html):
        drawn = picture(report.trace, report.verdicts)
        for name in ("Coord1", "Coord3", "Part1 (4)", "Part2 (5)"):
            assert name in drawn, (picture, name)


def test_12_the_winner_dies_before_it_announces() -> None:
    trace = play("12-bully-winner-dies").trace
    assert not any(isinstance(event, Sent) and event.process == 3 and event.kind == "Coordinator" for event in trace)
    again = [event.at for event in trace if isinstance(event, Sent) and event.process == 1 and event.kind == "Election"]
    assert len(set(again)) == 2  # p1 stood twice
    assert {event.leader for event in trace if isinstance(event, Elected)} == {2}


def test_14_the_largest_wins_within_the_bound() -> None:
    found = play("14-chang-roberts")
    assert found.leader == 28
    assert found.measurements.messages <= 3 * 4 - 1
    assert [event.fields["candidate"] for event in found.trace if isinstance(event, Sent) and event.kind == "Election"][
        :4
    ] == [17, 24, 24, 28]
