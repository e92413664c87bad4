"""The worlds of recipes in the verification matrix: process 1 is the server, which stays, the others are clients."""

from __future__ import annotations

from typing import Any

from vez.study.verify.world import Case, World
from vez.worlds.check import Budget

LOCK, TIMED = "recipe:etcd-lock", "recipe:etcd-lock-timed"
SHARED, SEMAPHORE = "recipe:etcd-shared", "recipe:etcd-semaphore"
OFFICE, ELECTION = "recipe:etcd-office", "recipe:etcd-election"
BREAK, PERMITS = "recipe:etcd-break", "recipe:etcd-break-permits"
OBSERVE, TRANSFER = "recipe:etcd-observe", "recipe:etcd-transfer"
NO_REPLY = Case("", parameters={"doubts": 1})
EXPIRY = Case("", parameters={"expiries": 1})
CRASH = Budget(crashes=1)
WITHDRAWAL = Budget(withdrawals=1)
NOTHING = World("nothing goes wrong", "")
CLIENTS = (2, 3, 4)
OTHER, OTHERS, ANOTHER_NAME = ["lock/1"], ["lock/1", "lock/2"], ["lock/1", "lock/more/2"]
"""Keys that are there from the start: of another program, or of two holders; and one of the name `lock/more`."""
LIGHT_AND_HEAVY = {"weights": [0, 5]}


def _case(**parameters: Any) -> Case:
    return Case("", parameters=parameters)


def _weighted(**parameters: Any) -> Case:
    return _case(**LIGHT_AND_HEAVY, **parameters)


def _permits(**parameters: Any) -> Case:
    return _case(limit=2, at_once=1, **parameters)


def _alone() -> tuple[World, ...]:
    """Worlds of a client that has the server for itself: small ones, in which much goes wrong at once."""
    return (
        World("one client alone, no reply", "", n=2, case=_case(doubts=2)),
        World("one client alone, no reply, it gives up", "--withdrawals 1", WITHDRAWAL, n=2, case=_case(doubts=2)),
        World("one client alone, no reply, its lease ends", "", n=2, case=_case(doubts=2, expiries=1)),
    )


RECIPE_WORLDS: dict[str, tuple[World, ...]] = {
    LOCK: (
        NOTHING,
        World("each client is once without a reply", "", case=NO_REPLY),
        World("a lease ends", "", case=EXPIRY),
        World("a waiter gives up", "--withdrawals 1", WITHDRAWAL),
        World("a client crashes", "--crashes 1 --victims 2,3", CRASH, victims=CLIENTS[:2]),
        World(
            "a client crashes and comes back",
            "--crashes 1 --victims 2,3 --recoveries 1",
            Budget(crashes=1, recoveries=1),
            victims=CLIENTS[:2],
        ),
        World("clients renew, and a lease ends", "", case=Case("", parameters={"keeps": True, "expiries": 1})),
        World("no reply, and a lease ends", "", case=Case("", parameters={"doubts": 1, "expiries": 1})),
        World("no reply, and a waiter gives up", "--withdrawals 1", WITHDRAWAL, case=NO_REPLY),
        World("no reply, and a client crashes", "--crashes 1 --victims 2,3", CRASH, victims=(2, 3), case=NO_REPLY),
        World("three clients", "", n=4),
        World("three clients, a lease ends", "", n=4, case=EXPIRY),
        World("three clients, a waiter gives up", "--withdrawals 1", WITHDRAWAL, n=4),
        World("three clients, one crashes", "--crashes 1 --victims 2,3,4", CRASH, victims=CLIENTS, n=4),
        *_alone(),
        World(
            "one client alone, two turns, no reply, it gives up",
            "--requests 2 --withdrawals 1",
            WITHDRAWAL,
            n=2,
            requests=2,
            case=NO_REPLY,
        ),
        World("one client alone renews, no reply", "", n=2, case=_case(keeps=True, doubts=1)),
        World("one client alone renews, its leases end", "", n=2, case=_case(keeps=True, expiries=2)),
        World("one client alone renews, and closes its session", "", n=2, case=_case(keeps=True, pooled=False)),
        World("keys of another program and another name", "", case=_case(others=ANOTHER_NAME)),
        World("keys of another program, a waiter gives up", "--withdrawals 1", WITHDRAWAL, case=_case(others=OTHER)),
        World("revisions of etcd", "", case=_case(exact=True)),
        World("revisions of etcd, a lease ends", "", case=_case(exact=True, expiries=1)),
    ),
    TIMED: (
        NOTHING,
        World("a lease of 4 ms", "", case=Case("", parameters={"lease_seconds": 4})),
    ),
    SHARED: (
        World("two readers", ""),
        World("a reader, a writer, no reply", "", case=Case("", parameters={"readers": [2], "doubts": 1})),
        World("two readers, a writer", "", n=4),
        World("two readers, a writer, a waiter gives up", "--withdrawals 1", WITHDRAWAL, n=4),
        World("two readers, a writer, one crashes", "--crashes 1 --victims 2,3,4", CRASH, victims=CLIENTS, n=4),
        World("a reader, a writer", "", case=_case(readers=[2])),
        World("a reader, a writer, a lease ends", "", case=_case(readers=[2], expiries=1)),
        World("two readers, keys of another program and another name", "", case=_case(others=ANOTHER_NAME)),
        World("a reader, a writer, revisions of etcd", "", case=_case(readers=[2], exact=True)),
    ),
    SEMAPHORE: (
        NOTHING,
        World("each client is once without a reply", "", case=NO_REPLY),
        World("a lease ends", "", case=EXPIRY),
        World("a client crashes", "--crashes 1 --victims 2,3", CRASH, victims=CLIENTS[:2]),
        World("three clients", "", n=4),
        World("three clients, two permits", "", n=4, case=Case("", parameters={"limit": 2})),
        World("three clients, a waiter gives up", "--withdrawals 1", WITHDRAWAL, n=4),
        *_alone(),
        World("two holders leave, one of two waiters stays", "", case=_case(limit=2, others=OTHERS, stays=[2])),
        World("two holders leave, a client gives up", "--withdrawals 1", WITHDRAWAL, n=2, case=_case(others=OTHERS)),
        World("a holder leaves, and a key of another name", "", case=_case(others=ANOTHER_NAME)),
        World("revisions of etcd", "", case=_case(exact=True)),
    ),
    OFFICE: (
        NOTHING,
        World("one is heavier", "", case=_weighted()),
        World("one is heavier, no reply", "", case=_weighted(doubts=1)),
        World("one is heavier, a lease ends", "", case=_weighted(expiries=1)),
        World("one is heavier, a waiter gives up", "--withdrawals 1", WITHDRAWAL, case=_weighted()),
        World("one is heavier, one crashes", "--crashes 1 --victims 2,3", CRASH, victims=(2, 3), case=_weighted()),
        *_alone(),
        World("keys of another program", "", case=_weighted(others=OTHER)),
        World("keys of another program and another name", "", case=_case(others=ANOTHER_NAME)),
        World("one is heavier, revisions of etcd", "", case=_weighted(exact=True)),
        World("three of equal weight", "", n=4),
    ),
    ELECTION: (
        NOTHING,
        World("one is heavier", "", case=_weighted()),
        World("one is heavier, no reply", "", case=_weighted(doubts=1)),
        World("one is heavier, a lease ends", "", case=_weighted(expiries=1)),
        World("one is heavier, one crashes", "--crashes 1 --victims 2,3", CRASH, victims=(2, 3), case=_weighted()),
        World("one candidate alone, no reply", "", n=2, case=_case(doubts=2)),
        World("one candidate alone, no reply, its lease ends", "", n=2, case=_case(doubts=1, expiries=1)),
    ),
    BREAK: (
        World("one client", ""),
        World("one client, no reply", "", case=NO_REPLY),
        World("one client renews", "", case=Case("", parameters={"keeps": True})),
        World("one client renews, its lease ends", "", case=Case("", parameters={"keeps": True, "expiries": 1})),
        World("two clients", "", n=4),
        World("two clients, a lease ends", "", n=4, case=EXPIRY),
        World("two clients, a waiter gives up", "--withdrawals 1", WITHDRAWAL, n=4),
        World("two clients, one crashes, or the breaker", "--crashes 1 --victims 2,3,4", CRASH, victims=CLIENTS, n=4),
        World("one client, a key of another program", "", case=_case(others=OTHER)),
        World("one client renews, a key of another program", "", case=_case(keeps=True, others=OTHER)),
        World("one client, a key of another name", "", case=_case(others=ANOTHER_NAME)),
        World("one client, revisions of etcd", "", case=_case(exact=True)),
        World("one client renews and asks for time", "", case=_case(keeps=True, grace=True)),
    ),
    PERMITS: (
        World("two clients, one permit", "", n=4),
        World("two permits, broken one by one", "", n=4, case=_permits()),
    ),
    OBSERVE: (
        NOTHING,
        World("each client is once without a reply", "", case=NO_REPLY),
        World("the candidate renews, and its lease ends", "", case=Case("", parameters={"keeps": True, "expiries": 1})),
        World("the candidate renews, and is broken", "", case=Case("", parameters={"keeps": True, "breaks": True})),
        World("a client crashes", "--crashes 1 --victims 2,3", CRASH, victims=(2, 3)),
        World("one candidate alone renews, and its leases end", "", n=2, case=_case(keeps=True, expiries=2)),
        World("one candidate alone renews, no reply", "", n=2, case=_case(keeps=True, doubts=1)),
        World("keys of another name", "", case=_case(others=["lock/more/2"])),
        World("revisions of etcd", "", case=_case(exact=True)),
    ),
    TRANSFER: (
        NOTHING,
        World("the leader loses patience", "", case=Case("", parameters={"impatient": True})),
        World("each client is once without a reply", "", case=NO_REPLY),
        World("a lease ends", "", case=EXPIRY),
        World("a client crashes", "--crashes 1 --victims 2,3", CRASH, victims=(2, 3)),
        World("three candidates", "", n=4),
        World("one is heavier", "", case=_weighted()),
        World("a key of another program", "", case=_case(others=OTHER)),
        World("a key of another name", "", case=_case(others=["lock/more/2"])),
        World("revisions of etcd", "", case=_case(exact=True)),
    ),
}

RECIPE_CASES: dict[str, Case] = {
    LOCK: Case(
        "A recipe, not an algorithm: process 1 is a model of the server, the others run what clients of etcd run. "
        "Exclusion is not promised, because a lease may end at any moment; tokens decide. What only the model sees, an "
        "orphaned key first of all, is an exception."
    ),
    TIMED: Case(
        "The same recipe where time is followed. A leader is a holder that was not told of a loss, without terms: "
        "uniqueness is exclusion."
    ),
    SHARED: Case("Readers are inside together, so exclusion is not promised; who enters and may not, the model sees."),
    SEMAPHORE: Case("As many are inside as there are permits; that nobody enters who may not, the model sees."),
    OFFICE: Case("The election of etcd, seen as turns: who leads is inside, and everybody leads once."),
    ELECTION: Case("Terms are create revisions. Who leads, leads until it crashes or its lease ends."),
    BREAK: Case(
        "The last process takes the lock from its holder by force, once and at any moment. A holder that has not left "
        "yet is inside together with the next: tokens decide. That it knows of the break, the model sees."
    ),
    PERMITS: Case("The same for the permits of a semaphore."),
    OBSERVE: Case(
        "One candidate, and a last process that observes. Agreement says that it shows the leader in the end, and that "
        "a leader whose key is gone was told."
    ),
    TRANSFER: Case("Each leader hands over once, to whomever and at any moment; what it says of it, the model judges."),
}
