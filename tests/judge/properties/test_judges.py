"""Judges on traces written by hand: each gives the expected verdict for the expected reason."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
import pytest

from vez.core.assumptions import Assumption
from vez.core.trace import (
    FORMAT,
    AnyEvent,
    Asked,
    Crashed,
    Delivered,
    Elected,
    End,
    Entered,
    Event,
    Header,
    Left,
    Lost,
    Noted,
    Paused,
    Recovered,
    Sent,
    Suspected,
    Trace,
    Wanted,
    Wrote,
)  # fmt: skip
from vez.judge.properties import History, Status, judge, measure
from vez.judge.properties.assumptions import broken_assumptions
from vez.judge.properties.election import leader

Role = Literal["mutex", "election", "other"]
OF_A_LEADER = ("termination", "agreement", "validity")
"""Properties of elections that say something about a leader only if there should be one."""


def trace(
    *events: Event, role: Role = "mutex", end: End = "quiet", ids: tuple[int, ...] = (1, 2, 3), **more: Any
) -> Trace:
    ended = events[-1].at if events else 0
    header = Header(FORMAT, "handmade", role, ids, "complete", end=end, ended_at=ended, patience_us=100_000, **more)
    return Trace(header, cast("tuple[AnyEvent, ...]", events))


def word(name: str, found: Trace) -> tuple[Status, str]:
    (verdict,) = judge(found, [name])
    return verdict.status, verdict.evidence


def stay(process: int, wanted: int, entered: int, left: int) -> list[AnyEvent]:
    return [Wanted(wanted, process), Entered(entered, process), Left(left, process)]


def merged(*parts: list[AnyEvent]) -> list[AnyEvent]:
    return sorted((event for part in parts for event in part), key=lambda event: event.at)


def test_exclusion() -> None:
    assert word("exclusion", trace(*merged(stay(1, 0, 5, 10), stay(2, 1, 11, 20))))[0] is Status.HOLDS_IN_RUNS
    status, evidence = word("exclusion", trace(*merged(stay(1, 0, 5_000, 10_000), stay(2, 1, 8_000, 20_000))))
    assert status is Status.BROKEN
    assert evidence == "processes 1 and 2 were inside together from 8 to 10 ms"


def test_exclusion_goes_by_order_not_by_the_clock() -> None:
    """Leaving and entering within one microsecond is a hand-over; entering first is not."""
    hand_over = [Wanted(0, 1), Entered(1, 1), Wanted(2, 2), Left(9, 1), Entered(9, 2), Left(12, 2)]
    assert word("exclusion", trace(*hand_over))[0] is Status.HOLDS_IN_RUNS
    overlap = [Wanted(0, 1), Entered(1, 1), Wanted(2, 2), Entered(9, 2), Left(9, 1), Left(12, 2)]
    assert word("exclusion", trace(*overlap))[0] is Status.BROKEN


def test_exclusion_names_the_messages_that_led_there() -> None:
    events = [
        Wanted(0, 1),
        Entered(1, 1),
        Wanted(2, 2),
        Sent(3, 2, 7, 3, "Request"),
        Delivered(4, 3, 2, 7),
        Sent(4, 3, 8, 2, "Grant"),
        Delivered(5, 2, 3, 8),
        Entered(5, 2),
    ]
    (verdict,) = judge(trace(*events), ["exclusion"])
    assert verdict.messages == ((3, 8), (2, 7))


def test_a_crash_ends_a_stay() -> None:
    events = [Wanted(0, 1), Entered(1, 1), Crashed(3, 1), Wanted(4, 2), Entered(5, 2), Left(6, 2)]
    assert word("exclusion", trace(*events))[0] is Status.HOLDS_IN_RUNS
    assert word("starvation_freedom", trace(*events))[0] is Status.HOLDS_IN_RUNS


def test_starvation_and_deadlock() -> None:
    stuck = trace(Wanted(0, 1), Wanted(1, 2))
    assert word("starvation_freedom", stuck)[0] is word("deadlock_freedom", stuck)[0] is Status.BROKEN
    one_left_out = trace(Wanted(0, 3), *stay(1, 1, 2, 3), *stay(2, 4, 5, 6))
    assert word("starvation_freedom", one_left_out) == (
        Status.BROKEN,
        "process 3 waited in vain from 0 ms to the end at 0.006 ms",
    )
    crashed = trace(Wanted(0, 1), Crashed(1, 1), *stay(2, 2, 3, 4))
    assert word("starvation_freedom", crashed)[0] is Status.HOLDS_IN_RUNS


def test_a_run_that_was_cut_is_undecided_until_patience_is_over() -> None:
    early = trace(Wanted(0, 1), Wanted(50_000, 2), end="time")
    assert word("starvation_freedom", early)[0] is word("deadlock_freedom", early)[0] is Status.UNDECIDED
    late = trace(Wanted(0, 1), Wanted(200_000, 2), end="time")
    assert word("starvation_freedom", late)[0] is Status.BROKEN
    assert word("deadlock_freedom", late)[0] is Status.BROKEN


def test_a_run_that_repeats_itself_is_endless_only_if_it_does() -> None:
    laps = [event for at in (2_000, 4_000) for event in stay(2, at, at + 500, at + 900)]
    twice = trace(Wanted(1_000, 1), *laps, end="time", loop_us=(1_500, 3_500))
    twice = Trace(msgspec.structs.replace(twice.header, ended_at=5_500), twice.events)
    assert word("starvation_freedom", twice)[0] is Status.BROKEN
    assert word("deadlock_freedom", twice)[0] is Status.HOLDS_IN_RUNS
    once = Trace(msgspec.structs.replace(twice.header, ended_at=5_400), twice.events)
    other = Trace(twice.header, (*twice.events[:-1], Left(4_800, 2)))
    for unlike in (once, other):
        assert word("starvation_freedom", unlike)[0] is Status.UNDECIDED
    wavering = [Elected(at, 1, leader=leader) for at, leader in ((2_000, 2), (3_000, None), (4_000, 2), (5_000, None))]
    election = trace(*wavering, role="election", end="time", ids=(1, 2), loop_us=(1_500, 3_500))
    election = Trace(msgspec.structs.replace(election.header, ended_at=5_500), election.events)
    assert word("termination", election)[0] is word("agreement", election)[0] is Status.BROKEN


def test_bypasses_are_counted_and_held_against_the_promise() -> None:
    events = merged([Wanted(0, 1)], stay(2, 1, 2, 3), stay(3, 4, 5, 6), stay(2, 7, 8, 9), [Entered(10, 1), Left(11, 1)])
    status, evidence = word("bounded_waiting", trace(*events))
    assert status is Status.NOT_JUDGED
    assert evidence == "no bound is named; at most 3 bypasses (process 1, from 0 ms)"
    assert word("bounded_waiting", trace(*events, bypass_bound=2)) == (
        Status.BROKEN,
        "process 1 was overtaken 3 times, more than the bound of 2",
    )
    assert word("bounded_waiting", trace(*events, bypass_bound=3))[0] is Status.HOLDS_IN_RUNS


def test_bypasses_count_from_the_arrival_of_what_the_request_sent() -> None:
    """Process 1 asks processes 2 and 3, and is placed when both have its request."""
    asked: list[AnyEvent] = [
        Wanted(0, 1),
        Sent(0, 1, 1, 2, "Request"),
        Noted(0, 1, "waits"),
        Sent(0, 1, 2, 3, "Request"),
    ]
    early, late = stay(2, 1, 2, 3), stay(2, 5, 6, 7)
    arrivals: list[AnyEvent] = [Delivered(1, 2, 1, 1), Delivered(4, 3, 1, 2)]
    inside: list[AnyEvent] = [Entered(8, 1), Left(9, 1)]
    found = History(trace(*merged(asked, early, late, arrivals, inside)))
    assert (found.bypasses, found.overtaken) == ([1, 0, 0], [2, 0, 0])
    never = History(trace(*merged(asked, early, late, arrivals[:1], inside)))
    assert never.bypasses == [0, 0, 0]
    made_before: list[AnyEvent] = [Wanted(3, 2), Entered(6, 2), Left(7, 2)]  # and let in after the request was placed
    assert History(trace(*merged(asked, made_before, arrivals, inside))).bypasses == [0, 0]


def test_what_a_process_sends_later_does_not_belong_to_its_request() -> None:
    events = merged(
        [Wanted(0, 1), Delivered(1, 1, 3, 1), Sent(1, 1, 1, 3, "Reply")], stay(2, 2, 3, 4), [Entered(5, 1), Left(6, 1)]
    )
    assert History(trace(Sent(0, 3, 1, 1, "Request"), *events)).bypasses == [1, 0]


def test_request_order_is_judged_by_causality_not_by_the_clock() -> None:
    apart = [Wanted(0, 1), Wanted(1, 2), Entered(2, 2), Left(3, 2), Entered(4, 1), Left(5, 1)]
    assert word("request_order", trace(*apart))[0] is Status.HOLDS_IN_RUNS  # neither knew of the other
    knowing = [
        Wanted(0, 1),
        Sent(0, 1, 1, 2, "Request"),
        Delivered(1, 2, 1, 1),
        Wanted(2, 2),
        Entered(3, 2),
        Left(4, 2),
        Entered(5, 1),
        Left(6, 1),
    ]
    status, evidence = word("request_order", trace(*knowing))
    assert status is Status.BROKEN
    assert "process 1 asked at 0 ms and process 2, which knew of it" in evidence


def test_fencing() -> None:
    slow = [Wanted(0, 1), Wanted(0, 2), Entered(1, 1, 1), Wrote(1, 1, 1, True), Entered(5, 2, 2), Wrote(5, 2, 2, True)]
    refused = trace(*slow, Wrote(9, 1, 1, False), Left(9, 1))
    assert word("fenced_exclusion", refused)[0] is Status.HOLDS_IN_RUNS
    assert word("exclusion", refused)[0] is Status.BROKEN
    accepted = trace(*slow, Wrote(9, 1, 1, True), Left(9, 1))
    assert word("fenced_exclusion", accepted)[0] is Status.BROKEN
    assert word("fenced_exclusion", trace(*stay(1, 0, 1, 2)))[0] is Status.NOT_JUDGED


def test_uniqueness_without_terms_forbids_two_at_once() -> None:
    one = trace(Elected(1, 1, 1), Elected(5, 1, 2), Elected(6, 2, 2), role="election")
    assert word("uniqueness", one)[0] is Status.HOLDS_IN_RUNS
    two = trace(Elected(1_000, 1, 1), Elected(4_000, 2, 2), Elected(5_000, 1, 2), role="election")
    assert word("uniqueness", two) == (Status.BROKEN, "processes 1 and 2 were both leaders, together from 4 to 5 ms")
    crashed = trace(Elected(1, 1, 1), Crashed(2, 1), Elected(4, 2, 2), role="election")
    assert word("uniqueness", crashed)[0] is Status.HOLDS_IN_RUNS


def test_uniqueness_with_terms_forbids_two_in_one_term() -> None:
    successive = trace(Elected(1, 1, 1, 1), Elected(4, 2, 2, 2), role="election")
    assert word("uniqueness", successive)[0] is Status.HOLDS_IN_RUNS
    same_term = trace(Elected(1, 1, 1, 3), Crashed(2, 1), Elected(4, 2, 2, 3), role="election")
    assert word("uniqueness", same_term)[0] is Status.BROKEN


def test_termination_and_agreement() -> None:
    silent = trace(Asked(0, 1), Suspected(5, 1, 2), role="election")
    assert word("termination", silent)[0] is Status.BROKEN
    agreed = trace(Elected(1, 1, 3), Elected(1, 2, 3), Elected(1, 3, 3), role="election")
    assert word("agreement", agreed) == (Status.HOLDS_IN_RUNS, "all 3 live processes name 3")
    split = trace(Elected(1, 1, 1), Elected(1, 2, 3), Elected(1, 3, 3), role="election")
    assert word("agreement", split) == (Status.BROKEN, "at 0.001 ms process 1 names 1; processes 2, 3 name 3")
    unheard = trace(Elected(1, 2, 3), Elected(1, 3, 3), role="election")
    assert word("agreement", unheard)[0] is Status.BROKEN
    dead = trace(Crashed(0, 1), Elected(1, 2, 3), Elected(1, 3, 3), role="election")
    assert word("agreement", dead)[0] is Status.HOLDS_IN_RUNS
    back = trace(Crashed(0, 1), Elected(1, 2, 3), Elected(1, 3, 3), Recovered(2, 1), role="election")
    assert word("agreement", back)[0] is Status.BROKEN


def test_a_dead_leader_is_no_leader() -> None:
    agreed = [Elected(1_000, process, 3) for process in (1, 2, 3)]
    dead = trace(*agreed, Crashed(5_000, 3), role="election")
    assert word("termination", dead) == (
        Status.BROKEN,
        "nobody led after process 3, which died at 5 ms, to the end at 5 ms",
    )
    assert word("agreement", dead) == (Status.BROKEN, "at 5 ms processes 1, 2 name 3, which is dead")
    again = trace(*agreed, Crashed(5_000, 3), Elected(6_000, 1, 2), Elected(6_000, 2, 2), role="election")
    assert word("agreement", again)[0] is Status.HOLDS_IN_RUNS
    assert word("termination", again) == (Status.HOLDS_IN_RUNS, "process 2 leads from 6 ms")  # not 3, which is dead
    unknown = trace(*agreed, Crashed(5_000, 3), Elected(6_000, 1, None), Elected(6_000, 2, None), role="election")
    assert word("termination", unknown)[0] is Status.BROKEN
    deposed = trace(
        Elected(1_000, 1, 1), Elected(2_000, 1, 3), Elected(2_000, 3, 3), Crashed(5_000, 3), role="election"
    )
    assert word("termination", deposed)[0] is Status.BROKEN  # process 1 has led, but it names a dead leader
    resigned = trace(Elected(1_000, 1, 1), Elected(2_000, 1, None), role="election")
    assert word("termination", resigned) == (
        Status.HOLDS_IN_RUNS,
        "process 1 led from 1 to 2 ms and is alive",
    )
    back = trace(Elected(1_000, 1, 1), Crashed(2_000, 1), Recovered(3_000, 1), role="election")
    assert word("termination", back) == (Status.HOLDS_IN_RUNS, "process 1 led from 1 to 2 ms and is alive")
    changed = trace(Elected(1_000, 2, 2), Elected(2_000, 2, 3), Crashed(3_000, 3), role="election")
    assert word("termination", changed) == (
        Status.BROKEN,
        "nobody led after process 2, which stepped down at 2 ms, to the end at 3 ms",
    )
    cut = trace(*agreed, Crashed(5_000, 3), role="election", end="time")
    assert word("termination", cut)[0] is word("agreement", cut)[0] is Status.UNDECIDED


def test_a_leader_is_owed_only_after_an_election_has_started() -> None:
    died = [Crashed(1_000, 2), Suspected(2_000, 1, 2), Suspected(2_000, 3, 2)]
    unasked = trace(*died, role="election")
    words = "no election started: nobody was asked, process 2 crashed before"
    assert {word(name, unasked) for name in OF_A_LEADER} == {(Status.NOT_JUDGED, words)}
    idle = trace(Noted(1_000, 1, "waits"), role="election")
    words = "no election started: nobody was asked"
    assert {word(name, idle) for name in OF_A_LEADER} == {(Status.NOT_JUDGED, words)}
    cut = trace(*died, role="election", end="time")
    assert {word(name, cut)[0] for name in OF_A_LEADER} == {Status.UNDECIDED}  # somebody may be asked later


@pytest.mark.parametrize(
    "first",
    [Asked(500, 2), Asked(3_000, 1), Sent(500, 2, 1, 1, "Hello"), Sent(3_000, 1, 1, 3, "Hello"), Elected(500, 2, 1)],
    ids=["asked, then dead", "asked", "sent, then dead", "sent", "named a leader, then dead"],
)
def test_what_starts_an_election(first: Event) -> None:
    died = [Crashed(1_000, 2), Suspected(2_000, 1, 2), Suspected(2_000, 3, 2)]
    events = sorted([*died, first], key=lambda event: event.at)
    started = trace(*events, role="election")
    assert word("termination", started)[0] is word("agreement", started)[0] is Status.BROKEN


def test_that_nobody_leads_starts_no_election() -> None:
    unasked = trace(Elected(500, 1, None), Crashed(1_000, 2), role="election")
    assert {word(name, unasked)[0] for name in OF_A_LEADER} == {Status.NOT_JUDGED}


def test_stability() -> None:
    deposed = trace(Elected(1, 2, 2), Elected(4, 3, 3), role="election")
    assert word("stability", deposed)[0] is Status.BROKEN
    succeeded = trace(Elected(1, 3, 3), Crashed(3, 3), Elected(4, 2, 2), role="election")
    assert word("stability", succeeded)[0] is Status.HOLDS_IN_RUNS


def test_validity() -> None:
    small = (Elected(1, 1, 2), Elected(1, 2, 2), Elected(1, 3, 2))
    assert word("validity", trace(*small, role="election"))[0] is Status.HOLDS_IN_RUNS
    assert word("validity", trace(*small, role="election", best_wins=True))[0] is Status.BROKEN
    assert word("validity", trace(*small, Crashed(2, 2), role="election"))[0] is Status.BROKEN
    assert word("validity", trace(*small, Crashed(2, 2), role="election", end="time"))[0] is Status.UNDECIDED


def test_what_the_run_did_not_keep() -> None:
    events = [Sent(0, 1, 1, 2, "R"), Sent(1, 1, 2, 2, "R"), Delivered(3, 2, 1, 2), Delivered(4, 2, 1, 1), Delivered(5, 2, 1, 1), Lost(5, 1, 2, "loss"),
              Crashed(6, 3), Paused(6, 1), Suspected(7, 1, 2), Suspected(7, 1, 3), Recovered(8, 3)]  # fmt: skip
    everything = ("reliable", "fifo", "no_crashes", "no_recovery", "known_bounds", "perfect_detector")
    found = broken_assumptions(trace(*events, assumes=everything))
    assert {str(name) for name in found} == set(everything)
    assert str(found[Assumption.RELIABLE]) == "messages: 1 lost, 1 delivered twice"
    assert str(found[Assumption.PERFECT_DETECTOR]) == "process 2 was suspected and alive"
    assert broken_assumptions(trace(*events, assumes=("fifo",))).keys() == {"fifo"}
    assert not broken_assumptions(trace(*stay(1, 0, 1, 2), assumes=everything))


def test_measurements() -> None:
    events = merged(
        [Sent(0, 1, 1, 2, "Request"), Delivered(1_000, 2, 1, 1), Sent(1_000, 2, 2, 2, "Self"), Sent(2_000, 2, 3, 1, "Reply")],
        stay(1, 0, 3_000, 8_000), stay(2, 4_000, 9_500, 11_000), stay(3, 20_000, 22_000, 23_000),
    )  # fmt: skip
    found = measure(trace(*events))
    assert (found.messages, found.by_kind) == (2, {"Reply": 1, "Request": 1})
    assert found.sent == {1: 1, 2: 1, 3: 0}
    assert found.received == {1: 0, 2: 1, 3: 0}
    assert found.entries == 3
    assert found.messages_per_entry == pytest.approx(2 / 3)
    assert (found.client_delay.count, found.client_delay.mean) == (2, 2.5)
    assert (found.synchronization_delay.count, found.synchronization_delay.mean) == (1, 1.5)
    assert found.waits.most == 5.5


def test_nothing_happened() -> None:
    for role in ("mutex", "election", "other"):
        empty = trace(role=role)
        assert all(verdict.evidence for verdict in judge(empty))
        assert measure(empty).messages == 0
        assert History(empty).live == (1, 2, 3)


def test_a_long_queue_that_moves_is_not_starvation() -> None:
    """Process 3 has waited longer than patience when the run is cut, but others who came before it got in."""
    moving = trace(
        Wanted(0, 1),
        Wanted(0, 2),
        Wanted(1, 3),
        Entered(2, 1),
        Left(90_000, 1),
        Entered(90_001, 2),
        Left(150_000, 2),
        end="time",
    )
    assert word("starvation_freedom", moving)[0] is Status.UNDECIDED
    assert word("deadlock_freedom", moving)[0] is Status.HOLDS_IN_RUNS
    long_stay = trace(Wanted(0, 1), Entered(2, 1), Wanted(3, 2), Wanted(500_000, 3), end="time")
    assert word("starvation_freedom", long_stay)[0] is Status.UNDECIDED


def test_being_overtaken_again_and_again_is_starvation_even_in_a_run_that_was_cut() -> None:
    others = [
        event for turn in range(8) for event in stay(2, 10 + 20_000 * turn, 20 + 20_000 * turn, 30 + 20_000 * turn)
    ]
    starved = trace(Wanted(0, 1), *others, end="time")
    assert word("starvation_freedom", starved)[0] is Status.BROKEN
    assert word("bounded_waiting", starved)[0] is Status.NOT_JUDGED  # nothing is promised about it
    assert word("deadlock_freedom", starved)[0] is Status.HOLDS_IN_RUNS


def test_the_dead_are_not_overtaken() -> None:
    events = [Wanted(0, 3), Crashed(1, 3), *stay(1, 2, 3, 4), *stay(2, 5, 6, 7)]
    found = word("bounded_waiting", trace(*events, bypass_bound=0))
    assert found == (Status.HOLDS_IN_RUNS, "at most 0 bypasses, the bound is 0")


def test_an_election_that_was_cut_is_undecided_until_patience_is_over() -> None:
    early = trace(
        Elected(1_000, 1, 1), Elected(1_000, 3, 3), Suspected(2_000, 1, 2), role="election", end="time", best_wins=True
    )
    assert word("agreement", early)[0] is word("validity", early)[0] is Status.UNDECIDED
    late = trace(
        Elected(1_000, 1, 1), Elected(1_000, 3, 3), Paused(200_000, 2), role="election", end="time", best_wins=True
    )
    assert word("agreement", late)[0] is word("validity", late)[0] is Status.BROKEN
    silent = trace(Asked(0, 1), Paused(200_000, 2), role="election", end="time")
    assert word("termination", silent)[0] is Status.BROKEN


def test_stability_forgives_a_change_after_the_leader_failed() -> None:
    """It had named another before it crashed; the next one leads only after the crash."""
    events = [Elected(1, 3, 3), Elected(2, 3, 1), Crashed(3, 3), Elected(4, 2, 2)]
    assert word("stability", trace(*events, role="election"))[0] is Status.HOLDS_IN_RUNS


def test_a_dead_leader_leads_nobody() -> None:
    events = [Elected(1, 1, 3), Elected(1, 2, 3), Elected(1, 3, 3), Crashed(2, 3)]
    assert leader(History(trace(*events, role="election"))) is None
    assert leader(History(trace(*events[:3], role="election"))) == 3


def test_entries_count_where_wishes_are_not_recorded() -> None:
    bare = trace(Entered(1_000, 1), Entered(2_000, 2), Left(3_000, 1), Left(4_000, 2))
    assert word("exclusion", bare) == (Status.BROKEN, "processes 1 and 2 were inside together from 2 to 3 ms")


def unkept(trace: Trace) -> dict[str, str]:
    return {str(name): str(words) for name, words in broken_assumptions(trace).items()}


def test_more_that_a_run_may_not_keep() -> None:
    late = [Sent(0, 1, 1, 2, "R"), Delivered(5_000, 2, 1, 1)]
    assumes = ("known_bounds", "hub_stays", "perfect_detector")
    assert unkept(trace(*late, assumes=assumes, delay_bound_us=2_000)) == {
        "known_bounds": "a message took 5 ms, longer than 2"
    }
    assert unkept(trace(*late, assumes=assumes, drifting=(2,))) == {
        "known_bounds": "process 2 had a clock that was off"
    }
    assert unkept(trace(*late, assumes=assumes, delay_bound_us=5_000)) == {}
    untold = trace(Crashed(1, 1), assumes=assumes)
    assert unkept(untold) == {
        "hub_stays": "process 1 crashed",
        "perfect_detector": "process 1 crashed and nobody was told",
    }
    assert unkept(trace(Crashed(1, 2), Suspected(2, 1, 2), assumes=assumes)) == {}


def test_a_message_that_is_still_under_way_is_as_late_as_it_is_so_far() -> None:
    events = (Sent(0, 1, 1, 2, "R"), Sent(0, 1, 2, 3, "R"), Crashed(1_000, 3), Wanted(5_000, 1))
    assumed: dict[str, Any] = {"assumes": ("known_bounds",), "delay_bound_us": 2_000}
    assert unkept(trace(*events, **assumed)) == {"known_bounds": "a message took 5 ms, longer than 2"}
    assert not broken_assumptions(trace(*events[1:], **assumed)), "3 is dead"
