"""The stories of every recipe: what it finds, and what others do meanwhile. Sessions are those of `Session` below."""

from __future__ import annotations

from typing import Any

from tests.locks.recipes.played import Happening, Story
from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import Recipe
from vez.locks.recipes.etcd import memo
from vez.locks.recipes.etcd.breaking import Pace, break_by_force, forget_records
from vez.locks.recipes.etcd.election import campaign, observe, transfer
from vez.locks.recipes.etcd.lock import Seat, acquire, leave
from vez.locks.recipes.etcd.operations import Delete, LeaseGrant, Put, Txn
from vez.locks.recipes.etcd.semaphore import acquire_permit
from vez.locks.recipes.etcd.session import Session, close_session, keep, open_session
from vez.locks.recipes.etcd.shown import Shown, encode

OURS = Session(0x20, 1, "me")
KEY = "vez/sessions/20"
LOCK, READER = Shown(1, "lock"), Shown(1, "lock", shared=True)
TWO, ONE = Shown(1, "semaphore", limit=2), Shown(1, "semaphore")
LIGHT, HEAVY = Shown(1, "election"), Shown(1, "election", weight=5)
LEADS = Shown(1, "election", inside=True)


def put(key: str, value: Shown | str = "", lease: int = 0) -> Happening:
    """Somebody writes a key."""
    return lambda store: store.execute(
        Txn((), (Put(key, encode(value) if isinstance(value, Shown) else value, lease),))
    )[0]


def gone(key: str) -> Happening:
    """Somebody removes a key."""
    return lambda store: store.execute(Txn((), (Delete(key),)))[0]


def expired(store: Store) -> Store:
    """The lease of our session ends."""
    return store.without(OURS.lease)


def queue(*values: Shown | str, ours: Shown | str | None = None, others: tuple[str, ...] = ()) -> Store:
    """Our session, and requests of others: x/30, x/40 and so on, each with a lease if vez has written it. Then our own,
    if it is there, and other keys. Each request is written twice, so its two revisions differ."""
    store, _ = Store(exact=True, history=True).execute(LeaseGrant(OURS.lease, 9))
    store = put(KEY, OURS.value, OURS.lease)(store)
    for number, value in enumerate(values, 3):
        lease = number * 16 if isinstance(value, Shown) else 0
        if lease:
            store, _ = store.execute(LeaseGrant(lease, 9))
        store = put(f"x/{number}0", value, lease)(store)
    if ours is not None:
        store = put("x/20", ours, OURS.lease)(store)
    for key in others:
        store = put(key)(store)
    for entry in store.entries:
        store = put(entry.key, entry.value, entry.lease)(store) if entry.key.startswith("x/") else store
    return store


def without_session() -> Store:
    """A server on which our session has ended, or has not begun."""
    return Store(exact=True, history=True)


def _shared(**options: Any) -> Recipe[Any]:
    return acquire(OURS, "x", encode(READER), shared=True, **options)


def _lock(**options: Any) -> Recipe[Any]:
    return acquire(OURS, "x", encode(LOCK), **options)


def _seat(token: int, *, doubt: bool = False) -> Seat:
    return Seat("x/20", token, doubt)


SESSIONS = (
    Story("a session is opened", lambda: open_session(0x20, 9, "me"), without_session()),
    Story("its lease is there", lambda: open_session(0x20, 9, "me"), expired(queue()).execute(LeaseGrant(0x20, 7))[0]),
    Story("its key is there", lambda: open_session(0x20, 9, "me"), queue()),
    Story("its key was written again", lambda: open_session(0x20, 9, "me"), put("y")(put(KEY, "me", 0x20)(queue()))),
    Story(
        "its lease ends while it is asked for again",
        lambda: open_session(0x20, 9, "me"),
        without_session(),
        (),
        ((3, expired),),
        ((1, "lost"),),
    ),
    Story(
        "its lease ends, and another is refused",
        lambda: open_session(0x20, 9, "me"),
        without_session(),
        (),
        ((3, expired),),
        ((1, "lost"), (5, "refused")),
    ),
    Story("the watch of a session ends", lambda: keep(OURS, 3), queue(), (expired,), (), ((3, "unwatched"),)),
    Story("its lease ends while it is opened", lambda: open_session(0x20, 9, "me"), queue(), busy=((2, expired),)),
    Story("a session is closed", lambda: close_session(OURS), queue()),
    Story("a session that is over is closed", lambda: close_session(OURS), without_session()),
    Story("a session is renewed until its key is removed", lambda: keep(OURS, 3), queue(), (None, gone(KEY))),
    Story("a session is renewed until its lease is gone", lambda: keep(OURS, 3), queue(), (None, expired)),
    Story("a session is renewed whose lease is gone", lambda: keep(OURS, 3), without_session()),
    Story("the key of a session was removed before", lambda: keep(OURS, 3), gone(KEY)(queue())),
    Story(
        "a session hears of a break, and its key is written",
        lambda: keep(OURS, 3),
        queue(),
        (put(f"{KEY}/broken/7", "x/ 4 why not"), put(KEY, "again", 0x20), put(f"{KEY}/broken/8", "y/ 5 so"), expired),
    ),
    Story(
        "a session hears what others wrote there",
        lambda: keep(OURS, 3),
        queue(),
        (
            put(f"{KEY}/broken/7", "x/ four"),
            put(f"{KEY}/broken/8", "x/ ² why"),
            put(f"{KEY}/broke", "x/ 4 why"),
            gone(f"{KEY}/broke"),
            expired,
        ),
    ),
    Story("a break was told before", lambda: keep(OURS, 3), put(f"{KEY}/broken/7", "x/ 4 why")(queue()), (expired,)),
)
LOCKS = (
    Story("a lock is free", _lock, queue()),
    Story("a lock is free, and a name below it is not", _lock, queue(others=("x/more/30",))),
    Story("a lock is held", _lock, queue(LOCK), (gone("x/30"),)),
    Story("a lock is held for long", _lock, queue(LOCK), (None, put("y"), gone("x/30"))),
    Story("a lock is held, and others wait", _lock, queue(LOCK, LOCK, ""), (gone("x/50"), gone("x/30"), gone("x/40"))),
    Story("a lock is held, and keys of another name", _lock, queue(LOCK, others=("x//1", "x/more/2")), (gone("x/30"),)),
    Story("a lock is held by another program", _lock, queue(""), (gone("x/30"),)),
    Story("a lock is held, and not waited for", lambda: _lock(wait=False), queue(LOCK)),
    Story("a lock is free, and not waited for", lambda: _lock(wait=False), queue()),
    Story("a lock is used as a semaphore", _lock, queue(ONE)),
    Story("the key of a waiter is removed", _lock, queue(LOCK), (lambda store: gone("x/30")(gone("x/20")(store)),)),
    Story("our key is there", _lock, queue(LOCK, ours=LOCK), (gone("x/30"),)),
    Story("the session of a request has another fence", _lock, put(KEY, "me", 0x20)(queue())),
    Story("the session of a request is over", _lock, without_session()),
    Story("the lease of a request is over", _lock, queue(), busy=((1, lambda store: put(KEY, "me")(expired(store))),)),
    Story("readers share", _shared, queue(READER, READER)),
    Story("a reader is alone", _shared, queue()),
    Story("a reader waits for a writer", _shared, queue(READER, LOCK, READER), (gone("x/30"), gone("x/40"))),
    Story("a reader waits for another program", _shared, queue(""), (gone("x/30"),)),
    Story("a writer waits for a reader", _lock, queue(READER), (gone("x/30"),)),
    Story("a reader does not wait for a writer", lambda: _shared(wait=False), queue(LOCK)),
    Story("a reader does not wait for readers", lambda: _shared(wait=False), queue(READER)),
    Story("a lock is left", lambda: leave(OURS, "x", _seat(2)), queue(ours=LOCK)),
    Story("a lock that is lost is left", lambda: leave(OURS, "x", _seat(2)), queue()),
    Story(
        "a lock is left by an earlier turn",
        lambda: leave(OURS, "x", _seat(2)),
        put("x/20")(gone("x/20")(queue(ours=""))),
    ),
    Story("a lock in doubt is left", lambda: leave(OURS, "x", _seat(2, doubt=True)), queue(ours=LOCK)),
    Story("a lock in doubt that is lost is left", lambda: leave(OURS, "x", _seat(2, doubt=True)), queue()),
    Story("a request is left", lambda: leave(OURS, "x", None), queue(ours=LOCK)),
    Story(
        "a request is left, the fence has moved", lambda: leave(OURS, "x", None), put(KEY, "me", 0x20)(queue(ours=LOCK))
    ),
    Story("a request is left, its session is over", lambda: leave(OURS, "x", None), without_session()),
)
LEAVES = gone("x/30")
SEMAPHORES = (
    Story("all permits are free", lambda: acquire_permit(OURS, "x", TWO), queue()),
    Story("a permit is free", lambda: acquire_permit(OURS, "x", TWO), queue(TWO)),
    Story(
        "a permit is free, others follow",
        lambda: acquire_permit(OURS, "x", TWO),
        queue(TWO),
        (),
        ((2, put("x/90", TWO)),),
    ),
    Story("all are taken", lambda: acquire_permit(OURS, "x", TWO), queue(TWO, TWO), (LEAVES,)),
    Story(
        "all are taken, others come and go",
        lambda: acquire_permit(OURS, "x", TWO),
        queue(TWO, TWO),
        (put("x/80", TWO), gone("x/80"), put("x/90", TWO), put("x/40", TWO, 0x40), gone("x/40")),
    ),
    Story("all are taken for long", lambda: acquire_permit(OURS, "x", ONE), queue(ONE), (None, LEAVES)),
    Story(
        "another waits, and has just written its key",
        lambda: acquire_permit(OURS, "x", ONE),
        queue(ONE, ONE),
        (LEAVES, gone("x/40")),
        ((2, put("x/40", ONE, 0x40)),),
    ),
    Story(
        "two others wait",
        lambda: acquire_permit(OURS, "x", ONE),
        queue(ONE, ONE, ONE),
        (gone("x/50"), gone("x/40"), LEAVES),
    ),
    Story(
        "our key is written again",
        lambda: acquire_permit(OURS, "x", TWO),
        queue(TWO),
        (),
        ((2, put("x/20", TWO, 0x20)),),
    ),
    Story("another waits", lambda: acquire_permit(OURS, "x", ONE), queue(ONE, ONE), (LEAVES, gone("x/40"))),
    Story("none is waited for", lambda: acquire_permit(OURS, "x", ONE, wait=False), queue(ONE)),
    Story("a free one is not waited for", lambda: acquire_permit(OURS, "x", TWO, wait=False), queue(TWO)),
    Story("a semaphore is used as a lock", lambda: acquire_permit(OURS, "x", ONE), queue(LOCK)),
    Story("the newest request is that of a lock", lambda: acquire_permit(OURS, "x", ONE), queue(ONE, LOCK)),
    Story("a semaphore has another limit", lambda: acquire_permit(OURS, "x", TWO), queue(ONE)),
    Story("names below have keys", lambda: acquire_permit(OURS, "x", ONE), queue(ONE, others=("x/m/1",)), (LEAVES,)),
    Story(
        "the key of a waiter is removed",
        lambda: acquire_permit(OURS, "x", ONE),
        queue(ONE),
        (lambda store: LEAVES(gone("x/20")(store)),),
    ),
    Story(
        "the key is removed before the note",
        lambda: acquire_permit(OURS, "x", TWO),
        queue(TWO),
        (),
        ((2, put("x/90", TWO)), (3, gone("x/20"))),
    ),
)


def _put_in_turn(store: Store, *values: tuple[str, Shown]) -> Store:
    """Each key is written, and then each again."""
    for key, value in (*values, *values):
        store = put(key, value)(store)
    return store


ELECTIONS = (
    Story("nobody stands", lambda: campaign(OURS, "x", LIGHT), queue()),
    Story("somebody leads", lambda: campaign(OURS, "x", LIGHT), queue(LEADS), (LEAVES,)),
    Story("somebody leads for long", lambda: campaign(OURS, "x", LIGHT), queue(LEADS), (None, LEAVES)),
    Story("somebody leads, and we do not wait", lambda: campaign(OURS, "x", LIGHT, wait=False), queue(LEADS)),
    Story("a lock is no election", lambda: campaign(OURS, "x", LIGHT), queue(LOCK)),
    Story("a heavier one stands behind", lambda: campaign(OURS, "x", LIGHT), queue(), (), ((2, put("x/90", HEAVY)),)),
    Story("an equal one stands behind", lambda: campaign(OURS, "x", LIGHT), queue(), (), ((2, put("x/90", LIGHT)),)),
    Story(
        "two lighter ones stand before a heavier one",
        lambda: campaign(OURS, "x", LIGHT),
        queue(LEADS),
        (LEAVES,),
        ((1, put("x/40", LIGHT)), (2, lambda store: put("x/90", HEAVY)(put("x/80", LIGHT)(gone("x/40")(store))))),
    ),
    Story(
        "we enter again behind a heavier one, and are earlier than an equal one",
        lambda: campaign(OURS, "x", LIGHT),
        queue(),
        (gone("x/90"),),
        ((2, put("x/90", HEAVY)), (5, put("x/a0", LIGHT))),
    ),
    Story(
        "we enter again behind two heavier ones, one after the other",
        lambda: campaign(OURS, "x", LIGHT),
        queue(),
        (gone("x/90"), gone("x/a0")),
        ((2, put("x/90", HEAVY)), (6, put("x/a0", HEAVY))),
    ),
    Story("we stand, in doubt", lambda: campaign(OURS, "x", LIGHT), queue(LEADS), (LEAVES,), (), ((1, "lost"),)),
    Story(
        "our key is removed before we look, and another is there",
        lambda: campaign(OURS, "x", LIGHT),
        queue(),
        (gone("x/90"),),
        ((2, lambda store: put("x/90", LIGHT)(gone("x/20")(store))),),
    ),
    Story(
        "somebody writes into our key", lambda: campaign(OURS, "x", LIGHT), queue(), (), ((2, put("x/20", "", 0x20)),)
    ),
    Story(
        "another program stands behind one that would rather not lead",
        lambda: campaign(OURS, "x", Shown(1, "election", weight=-1)),
        queue(),
        (),
        ((2, put("x/90")),),
    ),
    Story(
        "keys are written again, before a heavier one and behind it",
        lambda: campaign(OURS, "x", LIGHT),
        queue(),
        (gone("x/90"),),
        ((2, lambda store: _put_in_turn(store, ("x/80", LIGHT), ("x/90", HEAVY), ("x/a0", LIGHT))),),
    ),
    Story("another program stands before", lambda: campaign(OURS, "x", HEAVY), queue(""), (LEAVES,)),
    Story(
        "another program stands behind, before a heavier one",
        lambda: campaign(OURS, "x", LIGHT),
        queue(),
        (),
        ((2, lambda store: put("x/90", HEAVY)(put("x/80")(store))),),
    ),
    Story(
        "the leader hands over to us",
        lambda: campaign(OURS, "x", LIGHT),
        queue(LEADS),
        (lambda store: LEAVES(put("x/20", LEADS, 0x20)(store)),),
    ),
    Story(
        "our key is removed in favour of another",
        lambda: campaign(OURS, "x", LIGHT),
        queue(LEADS),
        (lambda store: LEAVES(gone("x/20")(store)),),
    ),
    Story("our key is removed before we look", lambda: campaign(OURS, "x", LIGHT), queue(), (), ((2, gone("x/20")),)),
    Story(
        "our key is removed before we note it", lambda: campaign(OURS, "x", LIGHT), queue(), (), ((3, gone("x/20")),)
    ),
    Story("our session ends before we note it", lambda: campaign(OURS, "x", LIGHT), queue(), (), ((3, expired),)),
    Story("nobody leads, seen first", lambda: observe("x", None, first=True), queue()),
    Story("somebody leads, seen first", lambda: observe("x", None, first=True), queue(LEADS)),
    Story("another leads", lambda: observe("x", ("x/90", 9), first=False), queue(LEADS)),
    Story(
        "the leader changes", lambda: observe("x", ("x/30", 2), first=False), queue(LEADS), (put("x/90", LIGHT), LEAVES)
    ),
    Story("nobody leads for long", lambda: observe("x", None, first=False), queue(), (None, put("x/30", LEADS))),
)
NEXT = Shown(1, "election", label="b")


def _next(*between: Shown | str) -> Store:
    """We lead, and the last candidate has the label `b`."""
    store = queue(ours=LEADS)
    for number, value in enumerate((*between, NEXT), 3):
        for _ in range(2):
            store = put(f"x/{number}0", value)(store)
    return store


TRANSFERS = (
    Story("to the next", lambda: transfer(OURS, "x", _seat(2), "b"), _next()),
    Story(
        "to the next, in doubt",
        lambda: transfer(OURS, "x", _seat(2, doubt=True), "b"),
        _next(),
    ),
    Story(
        "to one behind others",
        lambda: transfer(OURS, "x", _seat(2), "b"),
        _next(LIGHT),
    ),
    Story(
        "to one behind another whose key is written again",
        lambda: transfer(OURS, "x", _seat(2), "b"),
        _put_in_turn(queue(ours=LEADS), ("x/30", LIGHT), ("x/40", NEXT)),
    ),
    Story("to nobody", lambda: transfer(OURS, "x", _seat(2), "c"), _next()),
    Story("to ourselves", lambda: transfer(OURS, "x", _seat(2), "b"), queue(ours=NEXT)),
    Story(
        "with a stranger between",
        lambda: transfer(OURS, "x", _seat(2), "b"),
        _next(""),
    ),
    Story("of what is lost", lambda: transfer(OURS, "x", _seat(9), "b"), put("x/30", NEXT)(queue())),
    Story(
        "without a reply, and the chosen one leaves",
        lambda: transfer(OURS, "x", _seat(2), "b"),
        _next(),
        (),
        ((3, LEAVES),),
        ((2, "lost"),),
    ),
    Story(
        "to one that leaves and comes back",
        lambda: transfer(OURS, "x", _seat(2), "b"),
        _next(),
        (),
        ((2, lambda store: put("x/30", NEXT)(LEAVES(store))),),
    ),
)


def _record(tokens: tuple[int, ...]) -> str:
    return " ".join(map(str, tokens))


def _records(count: int) -> tuple[str, ...]:
    return tuple(f"vez/breaks/lock/x/{number}" for number in range(100, 100 + count))


def _break(kind: str, at_once: int = 30) -> Recipe[Any]:
    return break_by_force("x", kind, "x", 7, _record, "why", Pace(0.5, at_once))


GRACE = Shown(1, "lock", grace_ms=2000)
GRACE_OF_A_READER = Shown(1, "lock", shared=True, grace_ms=2000)
HEARD = (3, gone("vez/sessions/30/broken/7"))
IDLE = ("lock/xa/1", "lock/xa/2", "lock/xb/1", "lock/xc/1", "lock/y/1", "semaphore/xa/1", "semaphore/x/c/1")
BREAKS = (
    Story("of what nobody holds", lambda: _break("lock"), queue()),
    Story("of a lock whose holder does not hear", lambda: _break("lock"), queue(LOCK, LOCK)),
    Story(
        "of a lock whose holder hears",
        lambda: _break("lock"),
        queue(LOCK),
        (),
        ((3, gone("vez/sessions/30/broken/7")),),
    ),
    Story("of a lock whose holder leaves", lambda: _break("lock"), queue(LOCK), (), ((4, LEAVES),)),
    Story(
        "of a lock with a grace",
        lambda: _break("lock"),
        queue(GRACE),
        (),
        ((4, gone("vez/sessions/30/broken/7")), (6, LEAVES)),
    ),
    Story("of a lock of another program", lambda: _break("lock"), queue("")),
    Story("of a lock whose holder changes", lambda: _break("lock"), queue(LOCK, LOCK), (), ((2, LEAVES),)),
    Story(
        "of a lock whose holder's lease ends",
        lambda: _break("lock"),
        queue(LOCK),
        (),
        ((2, lambda store: put("x/30", LOCK, 0)(store.without(0x30))),),
    ),
    Story("of readers", lambda: _break("lock"), queue(READER, READER, LOCK)),
    Story("of permits, one by one", lambda: _break("semaphore", 1), queue(TWO, TWO, TWO)),
    Story("of permits, of which one leaves", lambda: _break("semaphore", 1), queue(TWO, TWO), (), ((3, gone("x/40")),)),
    Story("of a leader", lambda: _break("election"), queue(LEADS, LIGHT)),
    Story("of a candidate that does not lead yet", lambda: _break("election"), queue(LIGHT)),
    Story("with one record", lambda: _break("lock"), queue("", others=_records(1))),
    Story("with two records", lambda: _break("lock"), queue("", others=_records(2))),
    Story("with many records", lambda: _break("lock"), queue("", others=_records(17))),
    Story("with very many records", lambda: _break("lock"), queue("", others=_records(48))),
    Story(
        "of a lock whose holder leaves once it is told",
        lambda: _break("lock"),
        queue(LOCK),
        (),
        ((3, LEAVES),),
        ((2, "lost"),),
    ),
    Story("of a lock with a grace that is used up", lambda: _break("lock"), queue(GRACE)),
    Story("of readers, of whom one hears", lambda: _break("lock"), queue(READER, GRACE_OF_A_READER), (), (HEARD,)),
    Story("of readers, of whom one hears at once", lambda: _break("lock"), queue(READER, READER), (), (HEARD,)),
    Story("of a lock of another program with a lease", lambda: _break("lock"), put("x/30", "", 0x20)(queue())),
    Story(
        "records are forgotten",
        lambda: forget_records("x", frozenset({"lock xb"})),
        queue(others=tuple(f"vez/breaks/{name}" for name in IDLE)),
    ),
    Story("many records are forgotten", lambda: forget_records("", frozenset()), queue(others=_records(31))),
)


def _written(store: Store) -> Store:
    """A memo that was written twice."""
    for token in (4, 5):
        store = put("vez/memos/lock/x", f'{{"token":{token},"text":"a"}}')(store)
    return store


MEMOS = (
    Story("read, and there is none", lambda: memo.read("lock", "x"), without_session()),
    Story("read", lambda: memo.read("lock", "x"), _written(without_session())),
    Story("read what vez has not written", lambda: memo.read("lock", "x"), put("vez/memos/lock/x", "b")(without_session())),
    Story("written first", lambda: memo.write("lock", "x", 5, "a"), without_session()),
    Story("written again", lambda: memo.write("lock", "x", 6, "b"), _written(without_session())),
    Story("written with the same token", lambda: memo.write("lock", "x", 5, "b"), _written(without_session())),
    Story("written with an older token", lambda: memo.write("lock", "x", 4, "b"), _written(without_session())),
    Story("written, and the same is there", lambda: memo.write("lock", "x", 5, "a"), _written(without_session())),
    Story("written over what is no memo", lambda: memo.write("lock", "x", 1, "b"), put("vez/memos/lock/x", "b")(without_session())),
    Story("removed", lambda: memo.write("lock", "x", 6, None), _written(without_session())),
    Story("removed, and there is none", lambda: memo.write("lock", "x", 6, None), without_session()),
    Story("removed with an older token", lambda: memo.write("lock", "x", 4, None), _written(without_session())),
    Story("read, and it is not text", lambda: memo.read("lock", "x"), put("vez/memos/lock/x", "\ud800")(without_session())),
    Story(
        "written while another writes",
        lambda: memo.write("lock", "x", 5, "b"),
        without_session(),
        (),
        ((2, put("vez/memos/lock/x", '{"token":4,"text":"c"}')),),
    ),
)  # fmt: skip
STORIES = {
    "sessions": SESSIONS, "locks": LOCKS, "semaphores": SEMAPHORES, "elections": ELECTIONS, "transfers": TRANSFERS,
    "breaks": BREAKS, "memos": MEMOS,
}  # fmt: skip
