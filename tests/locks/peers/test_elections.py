"""Programs that elect a leader by an algorithm: leaders, waiters, terms, reported losses, kills."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.locks.peers.groups import CALM, PATIENCE, group, places, programs
from vez import aio
from vez.errors import LockTimeout, OwnershipLost
from vez.locks.peers.settings import read_url
from vez.locks.peers.traits import traits_of
from vez.locks.turns.client import Client, connect
from vez.testing.actors import eventually

QUICK: dict[str, Any] = {"suspect_ms": 6000, "beat_ms": 200, "time_scale": 300}
"""Silence of 6 s is a crash; a message may take 600 ms."""
LARGEST_WINS = ["bully", "chang-roberts", "luis"]
OTHERS = ["ring-collect", "franklin", "tournament", "dolev-klawe-rodeh", "yoyo", "bully-stable", "itai-rodeh"]


def leader_of(clients: list[Client], name: str = "boss") -> int:
    """Let all members stand, and wait until one of them leads. Returns its number. The others continue to wait."""
    pool = ThreadPoolExecutor(len(clients))
    waiting = [pool.submit(client.election(name).acquire, None) for client in clients]
    eventually(lambda: any(future.done() for future in waiting), "a leader")
    leaders = [number for number, future in enumerate(waiting, 1) if future.done()]
    for client in clients:  # those that wait end with an error
        client.close()
    for future in waiting:
        future.exception(PATIENCE)
    pool.shutdown(wait=True)
    assert len(leaders) == 1
    return leaders[0]


@pytest.mark.parametrize("algorithm", LARGEST_WINS)
def test_the_largest_member_leads_and_the_others_wait(algorithm: str) -> None:
    with group(algorithm, **CALM) as clients:
        assert leader_of(clients) == 3


@pytest.mark.parametrize("algorithm", OTHERS)
def test_one_member_leads_and_the_others_wait(algorithm: str) -> None:
    with group(algorithm, n=4, **CALM) as clients:
        assert leader_of(clients) in (1, 2, 3, 4)


@pytest.mark.parametrize("algorithm", ["bully", "chang-roberts"])
def test_when_the_leader_is_killed_the_next_one_leads(algorithm: str) -> None:
    with programs(algorithm, **QUICK) as (one, two, three):
        assert three.got("boss", "weight=0") == "None"
        for program in (one, two):
            assert program.ask("acquire", "boss", "weight=0", "timeout=0.2") == "error LockTimeout"
        for program in (one, two):
            program.tell("acquire", "boss", "weight=0")
        three.kill()
        assert two.hear() == "got None"
        assert one.silent()
        assert two.ask("check", "boss") == "held"


def test_when_the_leader_leaves_the_group_the_next_one_leads_at_once() -> None:
    """The leader says goodbye, so the others do not wait for its silence."""
    with group("bully", **CALM) as (one, two, three):
        leadership = three.election("boss").acquire(PATIENCE)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(two.election("boss", label="second").acquire, PATIENCE)
            eventually(lambda: len(two.inspect("boss", "election").queue) == 1)
            three.close()
            assert not leadership.lost  # it was released
            later = waiting.result(PATIENCE / 2)
        later.check()
        eventually(lambda: [who.label for who in one.inspect("boss", "election").holders] == ["second"])
        later.release()


def test_a_leader_that_is_deposed_is_told() -> None:
    """Members 1 and 2 begin without the largest, which comes later and takes over, as the algorithm requires."""
    with places() as made:
        urls = [made.url(one, "bully", join=0.5, **CALM) for one in made.ids]
        with connect(urls[0]) as one, connect(urls[1]) as two:
            eventually(lambda: two.engine.core.participant.gathered)  # type: ignore[attr-defined]
            with ThreadPoolExecutor(1) as pool:
                leading = pool.submit(two.election("boss").acquire, PATIENCE).result(PATIENCE)
                assert not leading.lost
                with connect(urls[2]) as three:
                    largest = three.election("boss", label="third").acquire(PATIENCE)
                    eventually(lambda: leading.lost, "the loss")
                    with pytest.raises(OwnershipLost, match="member 3 was named leader"):
                        leading.check()
                    with pytest.raises(OwnershipLost):
                        pool.submit(leading.release).result(PATIENCE)
                    largest.check()
                    eventually(lambda: [who.label for who in one.inspect("boss", "election").holders] == ["third"])
                    largest.release()


def test_terms_rise_with_majority_and_a_resigned_leader_makes_way() -> None:
    with group("majority", time_scale=100) as (one, two, _):
        assert one.engine.traits.token == "grant"  # noqa: S105
        first = one.election("boss").acquire(PATIENCE)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(two.election("boss").acquire, PATIENCE)
            eventually(lambda: len(two.inspect("boss", "election").queue) == 1)
            with contextlib.suppress(OwnershipLost):  # a busy machine may have deposed it
                first.release()
            second = waiting.result(PATIENCE)
            assert second.term > first.term
            with contextlib.suppress(OwnershipLost):
                pool.submit(second.release).result(PATIENCE)
        third = one.election("boss").acquire(PATIENCE)  # also if member 2 or 3 is elected first
        assert third.term > second.term
        with contextlib.suppress(OwnershipLost):
            third.release()


def test_observers_see_the_programs_that_lead_on_other_members() -> None:
    with group("bully", **CALM) as (one, two, three):
        seen = one.election("boss").observe(PATIENCE)
        assert next(seen) is None
        with three.election("boss", timeout=PATIENCE, label="third"):
            leader = next(seen)
            assert leader is not None
            assert (leader.label, leader.pid > 0) == ("third", True)
        assert next(seen) is None  # it has released, although the algorithm still takes member 3 for the leader
        three.close()
        with two.election("boss", timeout=PATIENCE, label="second"):
            assert getattr(next(seen), "label", None) == "second"
        seen.close()  # type: ignore[attr-defined]


def test_tasks_are_cancelled_when_their_leadership_is_lost() -> None:
    def take(url: str) -> None:
        with connect(url) as third:
            third.election("boss").acquire(PATIENCE)

    async def run(urls: list[str]) -> list[str]:
        story = []
        async with aio.connect(urls[1]) as two:
            try:
                async with two.election("boss", timeout=PATIENCE, grace=0) as leadership:
                    story.append(f"leads, term {leadership.term}")
                    taking = asyncio.create_task(asyncio.to_thread(take, urls[2]))  # it may lead as soon as it joins
                    await asyncio.sleep(PATIENCE)  # the loss cancels it
            except OwnershipLost as error:
                story.append(error.message)
            await taking
        return story

    with places() as made:
        urls = [made.url(one, "bully", join=0.5, **CALM) for one in made.ids]
        with connect(urls[0]):
            story = asyncio.run(run(urls))
    assert story[0] == "leads, term None"
    assert "member 3 was named leader" in story[1]


def test_a_second_candidate_of_the_program_waits_and_follows() -> None:
    with group("bully", **CALM) as (_, _, three):
        leadership = three.election("boss").acquire(PATIENCE)
        with ThreadPoolExecutor(1) as pool:
            with pytest.raises(LockTimeout, match="has been inside"):
                pool.submit(three.election("boss").acquire, 0).result(PATIENCE)
            waiting = pool.submit(lambda: three.election("boss").acquire(PATIENCE).release())
            eventually(lambda: len(three.inspect("boss", "election").queue) == 1)
            leadership.release()
            waiting.result(PATIENCE)


def test_members_that_invite_each_other_lead_their_own_groups_until_these_are_one() -> None:
    """Each program begins as the leader of its own group. When the groups have become one, all but one are told."""
    with programs("invitation", time_scale=30) as members:

        def leaders() -> list[str]:
            return [
                program.ask("acquire", "boss", "weight=0", "timeout=0.1")
                for program in members
                if program.ask("check", "boss") != "held"
            ]

        for program in members:
            program.ask("acquire", "boss", "weight=0", "timeout=0.1")
        eventually(lambda: leaders() == ["error LockTimeout"] * 2, "one group")


def test_an_algorithm_with_a_leader_for_each_group_says_so() -> None:
    with places() as made:
        notes = [traits_of(read_url(made.url(1, name))).notes for name in ("invitation", "bully", "majority")]
    told = [any("several members may lead at once" in note for note in some) for some in notes]
    assert told == [True, False, False]
