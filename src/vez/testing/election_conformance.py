"""The contract of elections, as tests."""

from __future__ import annotations

from typing import Any

import pytest

from vez.errors import Misuse, OwnershipLost
from vez.locks.engines.base import Traits
from vez.testing.actors import PATIENCE, eventually
from vez.testing.conformance_base import LONG_TIMEOUTS, Base, Make, assert_newer, needs


@needs("elections")
class ElectionConformance(Base):
    """Elections."""

    @needs("token")
    def test_terms_strictly_increase_and_the_next_leads_at_once(self, actor: Make) -> None:
        one, other = actor(), actor()
        first = one.acquire("election", "terms")
        waiting = other.queue_up("election", "terms")
        one.release(first)
        second = waiting.result(PATIENCE)
        assert second.term > first.term
        again = one.queue_up("election", "terms")
        other.release(second)
        assert again.result(PATIENCE).term > second.term

    @needs("weights", "queue_visible")
    def test_the_heaviest_wins_and_among_equals_the_first(self, actor: Make) -> None:
        leader = actor()
        leadership = leader.acquire("election", "weights")
        candidates = [(actor(), weight) for weight in (1, 5, 5, 3)]
        waiting = [one.queue_up("election", "weights", weight=weight) for one, weight in candidates]
        leader.release(leadership)
        order = []
        for _ in candidates:
            eventually(lambda: any(f.done() for place, f in enumerate(waiting) if place not in order), "a leader")
            place = next(place for place, f in enumerate(waiting) if f.done() and place not in order)
            order.append(place)
            candidates[place][0].release(waiting[place].result())
        assert order == [1, 2, 3, 0]

    @needs("weights", "queue_visible")
    def test_positions_and_the_queue_are_by_weight(self, actor: Make) -> None:
        """Candidates are in the order in which they would lead. A position only falls, unless a heavier candidate
        comes."""
        leader, light, heavy, last = (actor() for _ in range(4))
        leadership = leader.acquire("election", "places", label="leader")
        places: list[int] = []
        waiting = [
            light.queue_up("election", "places", label="light", on_wait=lambda place: places.append(place.position))
        ]
        eventually(lambda: places == [1], "position 1")
        waiting.append(heavy.queue_up("election", "places", weight=5, label="heavy"))
        waiting.append(last.queue_up("election", "places", weight=-1, label="last"))
        eventually(lambda: places == [1, 2], "position 2")
        assert [one.label for one in leader.inspect("places", "election").queue] == ["heavy", "light", "last"]
        leader.release(leadership)
        heavy.release(waiting[1].result(PATIENCE))
        light.release(waiting[0].result(PATIENCE))
        last.release(waiting[2].result(PATIENCE))
        assert set(places[2:]) <= {0, 1}, "it falls again; the last stays may be too short to be seen"

    @needs("weights")
    def test_a_light_leader_is_not_overthrown(self, actor: Make) -> None:
        one, other = actor(), actor()
        leadership = one.acquire("election", "stable", weight=1)
        waiting = other.queue_up("election", "stable", weight=9)
        leadership.check()
        assert not waiting.done()
        one.release(leadership)
        waiting.result(PATIENCE)

    @needs("transfer", "queue_visible")
    def test_transfer_goes_to_the_one_named(self, actor: Make, traits: Traits) -> None:
        one, heavy, chosen = actor(), actor(), actor()
        leadership = one.acquire("election", "transfer", label="one")
        passed_over = heavy.queue_up("election", "transfer", weight=9, label="heavy")
        waiting = chosen.queue_up("election", "transfer", label="chosen")
        with pytest.raises(Misuse, match="nobody"):
            one.transfer(leadership, "nobody")
        leadership.check()
        term = one.transfer(leadership, "chosen")
        later = waiting.result(PATIENCE)
        assert later.term == term
        assert_newer(traits, later, leadership)
        assert not passed_over.done()
        with pytest.raises(OwnershipLost):
            leadership.check()

    @needs("transfer", "queue_visible")
    def test_a_transferred_leadership_is_measured(self, actor: Make) -> None:
        one, other = actor(), actor()
        metrics = one.client.measure()
        leadership = one.acquire("election", "measured")
        waiting = other.queue_up("election", "measured", label="other")
        one.transfer(leadership, "other")
        one.release(leadership)
        (reading,) = metrics.read()
        assert (reading.hold.count, reading.lost) == (1, 0)
        other.release(waiting.result(PATIENCE))

    def test_observers_see_every_leader_who_stays(self, actor: Make, url: str, traits: Traits) -> None:
        from vez.locks.turns.client import connect

        one, other = actor(), actor()
        with connect(url) as client:
            seen = client.election("observed").observe(PATIENCE)
            assert next(seen) is None
            leadership = one.acquire("election", "observed", label="one")
            first = next(seen)
            assert first is not None
            assert first.label == "one"
            assert traits.token is None or first.term == leadership.term
            waiting = other.queue_up("election", "observed", label="other")
            one.release(leadership)
            second = waiting.result(PATIENCE)
            labels = [leader.label if leader else None for leader in (next(seen),)]
            if labels == [None]:
                labels.append(getattr(next(seen), "label", None))
            assert labels[-1] == "other"
            other.release(second)
            assert next(seen) is None
            seen.close()  # type: ignore[attr-defined]

    @pytest.mark.parametrize("seconds", [0, 0.01])
    def test_an_observer_with_little_time_sees_the_leader(self, actor: Make, seconds: float) -> None:
        one = actor()
        assert one.leaders("brief", seconds) == [None]
        leadership = one.acquire("election", "brief", label="one")
        assert [leader.label if leader else None for leader in one.leaders("brief", seconds)] == ["one"]
        one.release(leadership)

    @pytest.mark.parametrize("seconds", [-1, float("nan"), "x"])
    def test_the_seconds_of_an_observer_are_checked(self, actor: Make, seconds: Any) -> None:
        with pytest.raises(Misuse, match="a timeout is a number of seconds"):
            actor().leaders("checked", seconds)

    def test_an_observer_with_very_much_time_waits(self, url: str, actor: Make) -> None:
        from vez.locks.turns.client import connect

        with connect(url) as client:
            for seconds in LONG_TIMEOUTS:
                seen = client.election("patient").observe(seconds)
                assert next(seen) is None
                one = actor()
                leadership = one.acquire("election", "patient", label="one")
                assert getattr(next(seen), "label", None) == "one"
                one.release(leadership)
                assert next(seen) is None
                seen.close()  # type: ignore[attr-defined]

    @needs("breaks")
    def test_a_deposed_leader_is_told_and_another_leads(self, actor: Make, traits: Traits) -> None:
        one, other = actor(), actor()
        leadership = one.acquire("election", "deposed", grace=0)
        waiting = other.queue_up("election", "deposed", grace=0)
        assert one.viewer.break_lock("deposed", "a test", "election") is not None
        later = waiting.result(PATIENCE)
        assert_newer(traits, later, leadership)
        with pytest.raises(OwnershipLost):
            leadership.check()
        later.check()
        if traits.transfer:
            with pytest.raises(OwnershipLost, match="force"):
                one.transfer(leadership, "nobody")
            later.check()
        with pytest.raises(OwnershipLost, match="force"):
            one.release(leadership)
        later.check()

    def test_whoever_leads_works_again_and_again_until_it_is_stopped(self, actor: Make, traits: Traits) -> None:
        one, other = actor(), actor()
        steps: list[tuple[str, int | None]] = []
        stop_one = one.lead("work", lambda leadership: steps.append(("one", leadership.term)), 0.01)
        eventually(lambda: len(steps) >= 3, "three steps of the leader")
        stop_other = other.lead("work", lambda leadership: steps.append(("other", leadership.term)), 0.01)
        assert stop_one()
        eventually(lambda: steps[-1][0] == "other", "the steps of the next leader")
        first, second = (next(term for who, term in steps if who == name) for name in ("one", "other"))
        assert all(term == (first if who == "one" else second) for who, term in steps), "one term each"
        assert [who for who, _ in steps] == sorted((who for who, _ in steps), key=("one", "other").index)
        assert traits.token is None or (first is not None and second is not None and second > first)
        assert stop_other()
        eventually(lambda: not one.inspect("work", "election").holders, "nobody leads")

    def test_a_candidate_is_stopped_while_it_waits(self, actor: Make, traits: Traits) -> None:
        """At once, without a trace in the queue; the leader and the next candidate go on."""
        leader, waiting, last = actor(), actor(), actor()
        leadership = leader.acquire("election", "withdrawn")
        steps: list[object] = []
        stop = waiting.lead("withdrawn", steps.append, 0.01, label="waits")
        if traits.queue_visible:
            eventually(lambda: [one.label for one in leader.inspect("withdrawn", "election").queue] == ["waits"])
        assert stop()
        assert [one.label for one in leader.inspect("withdrawn", "election").queue if one.label == "waits"] == []
        leadership.check()
        next_one = last.queue_up("election", "withdrawn")
        leader.release(leadership)
        last.release(next_one.result(PATIENCE))
        assert not steps

    @needs("breaks")
    def test_whoever_is_deposed_stands_again(self, actor: Make) -> None:
        one = actor()
        terms: list[int] = []
        stop = one.lead("again", lambda leadership: terms.append(leadership.term), 0.01, grace=0)
        eventually(lambda: bool(terms), "the first term")
        assert one.viewer.break_lock("again", "a test", "election") is not None
        eventually(lambda: len(set(terms)) > 1, "another term")
        assert stop()
        assert terms == sorted(terms)
