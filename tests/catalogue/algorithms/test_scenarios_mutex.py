"""The scenarios of mutual exclusion with known results: the permissions of each process, and the order of stays."""

from __future__ import annotations

from pathlib import Path

from vez.catalogue.algorithms import find
from vez.core import Assumption, Property
from vez.core.trace import Sent, Status
from vez.judge.properties import History
from vez.study.report import Report, run_and_report
from vez.study.sweep import sweep
from vez.worlds.sim.scenario import Nemesis, Scenario, load

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def play(name: str) -> Report:
    scenario = load(SCENARIOS / f"{name}.toml")
    return run_and_report(scenario, find(scenario.algorithm), debug=True)


def in_ms(at: int | None) -> float | None:
    return None if at is None else at / 1000


def stays(found: Report) -> list[tuple[int, float | None, float | None]]:
    """(process, entered, left) in ms, in the order of entry. A process that never enters comes last."""
    times = [(stay.process, in_ms(stay.entered_at), in_ms(stay.left_at)) for stay in History(found.trace).stays]
    return sorted(times, key=lambda stay: (stay[1] is None, stay[1] or 0.0))


def grants(found: Report, kind: str, before_ms: float) -> dict[int, list[int]]:
    """By process: the senders of the permissions that it got before a moment."""
    given: dict[int, list[int]] = {}
    for event in found.trace:
        if isinstance(event, Sent) and event.kind == kind and event.at < before_ms * 1000:
            given.setdefault(event.to, []).append(event.process)
    return given


def last_words(found: Report, process: int) -> str:
    return [event.text for event in found.trace if isinstance(event, Status) and event.process == process][-1]


def test_quorum_release_lets_the_second_in() -> None:
    found = play("05-quorum")
    assert grants(found, "Grant", before_ms=5) == {4: [1, 2], 5: [3]}
    assert stays(found) == [(4, 2.0, 5.0), (5, 7.0, 10.0)]
    # a release removes a request that still waits at coordinator 3: it is never granted
    assert [event.to for event in found.trace if isinstance(event, Sent) and event.process == 3] == [5]
    assert [last_words(found, coordinator) for coordinator in (1, 2, 3)] == ["free, queue []"] * 3


def test_quorum_coordinator_2_forgets_and_two_are_inside() -> None:
    found = play("06-quorum-amnesia")
    assert grants(found, "Grant", before_ms=6) == {4: [1, 2], 5: [3, 2]}
    assert stays(found) == [(4, 2.0, 10.0), (5, 6.0, 14.0)]


def test_quorum_of_seven_the_intersection_forgets() -> None:
    found = play("06-quorum-amnesia-seven")
    assert grants(found, "Grant", before_ms=6) == {8: [1, 2, 3, 4], 9: [5, 6, 7, 4]}
    assert stays(found) == [(8, 2.0, 10.0), (9, 6.0, 14.0)]


def test_quorum_seven_without_the_restart_keeps_exclusion() -> None:
    scenario = load(SCENARIOS / "06-quorum-amnesia-seven.toml").but(crash=())
    found = run_and_report(scenario, find("quorum"))
    assert not found.broken
    assert [process for process, _, _ in stays(found)] == [8, 9]


def test_quorum_one_permission_each_is_a_deadlock() -> None:
    found = play("07-quorum-deadlock")
    assert grants(found, "Grant", before_ms=1000) == {4: [1], 5: [2], 6: [3]}
    assert all(entered is None for _, entered, _ in stays(found))
    assert found.trace.header.end == "quiet"


def test_quorum_retry_dissolves_that_deadlock() -> None:
    found = play("07-quorum-retry")
    assert sorted(process for process, entered, _ in stays(found) if entered is not None) == [4, 5, 6]
    assert min(entered or 0 for _, entered, _ in stays(found)) > 8  # not before patience has ended


def test_priorities_give_both_all_replies() -> None:
    found = play("09-ricart-agrawala-priority")
    assert sorted(grants(found, "Reply", before_ms=4)[0]) == [1, 2]
    assert sorted(grants(found, "Reply", before_ms=4)[2]) == [0, 1]
    assert stays(found) == [(2, 3.5, 7.5), (0, 4.0, 8.0)]


def test_timestamps_in_its_place_keep_the_first_alone() -> None:
    scenario = load(SCENARIOS / "09-ricart-agrawala-priority.toml").but(algorithm="ricart-agrawala")
    found = run_and_report(scenario, find("ricart-agrawala"))
    assert not found.broken
    assert [process for process, _, _ in stays(found)] == [0, 2]


def test_maekawa_everybody_votes_for_itself() -> None:
    found = play("10-maekawa")
    assert grants(found, "Vote", before_ms=1000) == {1: [1], 2: [2], 3: [3]}
    assert all(entered is None for _, entered, _ in stays(found))
    assert last_words(found, 2) == "WANTED, voted for 2, queue [1]"


def test_maekawa_fair_asks_a_vote_back() -> None:
    found = play("10-maekawa-fair")
    assert [process for process, _, _ in stays(found)] == [2, 1, 3]
    returned = [event for event in found.trace if isinstance(event, Sent) and event.kind == "Relinquish"]
    assert [(event.process, event.to) for event in returned] == [(3, 3)]


def test_a_participant_that_crashes_with_permissions_may_stop_quorum_retry() -> None:
    """This is why it assumes that no process crashes. Earlier versions promised deadlock freedom with crashes too."""
    result = sweep(Scenario(algorithm="quorum-retry", n=3, nemesis=Nemesis(crashes=1)), 10, jobs=1)
    (stuck,) = [tally for tally in result.tallies if tally.name == Property.DEADLOCK_FREEDOM]
    assert stuck.broken
    assert Assumption.NO_CRASHES in find("quorum-retry").assumes
