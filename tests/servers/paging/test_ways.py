"""The four ways of paging on real databases: the same rows, and how many rows each of them visits."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.paging.conftest import opened
from vez.servers.paging.pager import LONGEST_PAGE, WAYS, Cursor, Page, Pager
from vez.servers.paging.refusal import Refused
from vez.servers.paging.signing import LONGEST, Signer, new_key
from vez.servers.paging.stable_views import StableViews
from vez.servers.paging.store import Row, Store
from vez.servers.paging.views import Limits, MemoryViews

ROWS, PAGE = 200, 20
STATELESS = ("recompute", "offset", "keyset")


def products(count: int = ROWS) -> list[Row]:
    """Products with 7 prices, so that only the number orders many of them."""
    return [(number * 31 % 7, number, f"product {number}") for number in range(1, count + 1)]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with opened(database, counting=True) as store:
        store.create(products())
        yield store


@pytest.fixture
def pager(store: Store) -> Pager:
    return Pager(store, new_key(), MemoryViews(store, Limits()))


def read(pager: Pager, way: str, count: int = PAGE) -> list[Page]:
    """All pages of a client."""
    pages = [pager.first("ana", way, count)]
    while (place := pages[-1].next) is not None:
        assert len(pages) <= 4000, "this never ends"
        follow = pager.read_view if way == "view" else pager.following
        pages.append(follow("ana", place, count))
    return pages


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [1, PAGE, 33, ROWS, LONGEST_PAGE])
def test_every_way_gives_every_row_once_and_in_order(pager: Pager, way: str, count: int) -> None:
    pages = read(pager, way, count)
    assert [row for page in pages for row in page.rows] == sorted(products())
    assert all(len(page.rows) == count for page in pages[:-1])


def test_rows_that_each_way_visits(database: str) -> None:
    """PostgreSQL plans each page anew: it may sort what is left, or all, instead of following the index."""
    with opened(database, counting=True) as store:
        store.create(products(4000))
        pager = Pager(store, new_key(), MemoryViews(store, Limits()))
        visits = {way: [page.visited for page in read(pager, way, 400)] for way in WAYS}
    assert visits["recompute"] == [4000] * 11  # the eleventh page is empty
    assert visits["view"] == [4000] + [0] * 9
    if database.endswith(".db"):
        assert visits["keyset"] == [400] * 10 + [0]
        assert visits["offset"] == [400 * page for page in range(1, 11)] + [4000]
    else:
        left = [4000 - 400 * page for page in range(11)]
        assert all(min(400, rest) <= count <= rest for rest, count in zip(left, visits["keyset"], strict=True))
        assert all(
            4000 - max(0, rest - 400) <= count <= 4000 for rest, count in zip(left, visits["offset"], strict=True)
        )
        assert sum(visits["keyset"]) < sum(visits["offset"])


def test_a_cursor_works_at_every_server_that_has_the_key(store: Store) -> None:
    key = new_key()
    servers = [Pager(store, key, MemoryViews(store, Limits())) for _ in range(2)]
    page, rows, turn = servers[0].first("ana", "keyset", PAGE), [], 0
    while True:
        rows += page.rows
        if page.next is None:
            break
        turn += 1
        page = servers[turn % 2].following("ana", page.next, PAGE)
    assert rows == sorted(products())


@pytest.mark.parametrize("way", STATELESS)
def test_a_request_without_state_gives_the_same_answer_again(pager: Pager, way: str) -> None:
    first = pager.first("ana", way, PAGE)
    assert pager.first("ana", way, PAGE) == first
    assert first.next is not None
    assert pager.following("ana", first.next, PAGE) == pager.following("ana", first.next, PAGE)


def test_a_request_for_the_next_page_of_a_view_gives_another_answer_each_time(pager: Pager) -> None:
    name = pager.first("ana", "view", PAGE).next
    assert name is not None
    one, other = pager.read_view("ana", name, PAGE), pager.read_view("ana", name, PAGE)
    assert one.rows + other.rows == sorted(products())[PAGE : 3 * PAGE]


def refused(status: int, call: Callable[[], object]) -> None:
    with pytest.raises(Refused) as caught:
        call()
    assert caught.value.status == status


def test_cursors_that_are_not_ours_are_refused(store: Store, pager: Pager) -> None:
    good = pager.first("ana", "keyset", PAGE).next
    assert good is not None
    other_key = Pager(store, new_key(), MemoryViews(store, Limits()))
    refused(400, lambda: other_key.following("ana", good, PAGE))
    refused(403, lambda: pager.following("eve", good, PAGE))
    refused(400, lambda: pager.following("ana", good + "A" * LONGEST, PAGE))
    for place in range(len(good)):
        changed = good[:place] + ("A" if good[place] != "A" else "B") + good[place + 1 :]
        refused(400, partial(pager.following, "ana", changed, PAGE))


def test_pages_and_ways_out_of_bounds_are_refused(pager: Pager) -> None:
    for count in (0, -1, LONGEST_PAGE + 1, 10**9):
        refused(400, partial(pager.first, "ana", "keyset", count))
    refused(400, lambda: pager.first("ana", "backwards", PAGE))


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_a_text_from_outside_is_refused_and_never_raises_anything_else(text: str) -> None:
    refused(400, lambda: Signer(b"k" * 32, "cursor").read(text, Cursor))


def test_a_long_text_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(Refused, match=f"{LONGEST} are allowed"):
        Signer(b"k" * 32, "cursor").read("A" * (LONGEST + 1), Cursor)


@pytest.mark.parametrize("user", ["a", "ab", "abc"])
def test_a_cursor_has_one_form(user: str) -> None:
    """The last character of base64 may have bits that no byte needs: other texts would mean the same bytes."""
    signer = Signer(b"k" * 32, "cursor")
    text = signer.sign(Cursor(user, "keyset"))
    assert signer.read(text, Cursor).user == user
    for other in set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") - {text[-1]}:
        refused(400, partial(signer.read, text[:-1] + other, Cursor))
    refused(400, partial(signer.read, text + "=", Cursor))


def test_a_text_signed_for_another_purpose_is_refused() -> None:
    token = Signer(b"k" * 32, "token").sign(Cursor("ana", "keyset"))
    refused(400, lambda: Signer(b"k" * 32, "cursor").read(token, Cursor))


@pytest.fixture(params=["memory", "stable"])
def kind(request: pytest.FixtureRequest) -> type[MemoryViews | StableViews]:
    return MemoryViews if request.param == "memory" else StableViews


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_view_shows_what_was_there_when_it_was_opened(store: Store, kind: type[MemoryViews | StableViews]) -> None:
    views = kind(store, Limits())
    name = views.open("ana").name
    store.remove([number for _, number, _ in products()[:50]])
    store.insert([(3, 9000, "new")])
    rows, more = views.read("ana", name, 150, None)
    assert more
    rest, more = views.read("ana", name, 150, None)
    assert not more
    assert rows + rest == sorted(products())
    assert views.census() == (0, 0)


def test_a_view_that_nobody_reads_expires_and_one_that_is_read_does_not(
    store: Store, kind: type[MemoryViews | StableViews]
) -> None:
    clock = Clock()
    views = kind(store, Limits(idle_s=10), clock)
    read_often, forgotten = views.open("ana").name, views.open("ana").name
    for _ in range(3):
        clock.now += 6
        views.read("ana", read_often, 1, None)
    refused(410, lambda: views.read("ana", forgotten, 1, None))
    assert views.census() == (1, ROWS)
    clock.now += 11
    assert views.census() == (0, 0)


def test_a_full_map_refuses_a_new_client(store: Store, kind: type[MemoryViews | StableViews]) -> None:
    views = kind(store, Limits(views=3))
    names = [views.open(f"user-{number}").name for number in range(3)]
    refused(503, lambda: views.open("late"))
    views.close("eve", names[0])  # nobody closes the view of another
    refused(503, lambda: views.open("late"))
    views.close("user-0", names[0])
    views.open("late")
    assert views.census() == (3, 3 * ROWS)


def test_or_it_drops_the_view_that_was_not_used_for_longest(
    store: Store, kind: type[MemoryViews | StableViews]
) -> None:
    clock = Clock()
    views = kind(store, Limits(views=3, when_full="evict"), clock)
    names = [views.open("ana").name for _ in range(3)]
    for name in (names[0], names[2]):
        clock.now += 1
        views.read("ana", name, 1, None)
    views.open("late")
    refused(410, lambda: views.read("ana", names[1], 1, None))
    assert [views.read("ana", name, 1, None)[1] for name in (names[0], names[2])] == [True, True]
    assert views.census() == (3, 3 * ROWS)


def test_one_user_cannot_take_all_views_and_a_long_answer_is_refused(
    store: Store, kind: type[MemoryViews | StableViews]
) -> None:
    views = kind(store, Limits(per_user=2, rows=ROWS))
    first, _ = views.open("ana").name, views.open("ana")
    refused(429, lambda: views.open("ana"))
    views.close("ana", first)
    views.open("ana")
    refused(429, lambda: views.open("ana"))
    views.open("bia")
    store.insert([(1, 9000, "one too many")])
    refused(507, lambda: views.open("bia"))
    assert views.census() == (3, 3 * ROWS)


def test_another_user_finds_no_view(store: Store, kind: type[MemoryViews | StableViews]) -> None:
    views = kind(store, Limits())
    name = views.open("ana").name
    refused(410, lambda: views.read("eve", name, 1, None))


def test_with_a_step_a_lost_page_is_asked_for_again(store: Store, kind: type[MemoryViews | StableViews]) -> None:
    views = kind(store, Limits())
    name = views.open("ana").name
    first, _ = views.read("ana", name, PAGE, 0)
    again, _ = views.read("ana", name, PAGE, 0)
    second, _ = views.read("ana", name, PAGE, 1)
    assert first == again
    assert first + second == sorted(products())[: 2 * PAGE]
    for wrong in (0, 3, -1, 10**12):
        refused(409, partial(views.read, "ana", name, PAGE, wrong))
    pages = [views.read("ana", name, PAGE, step)[0] for step in range(2, 10)]
    assert views.read("ana", name, PAGE, 9) == (pages[-1], False)
    assert first + second + [row for page in pages for row in page] == sorted(products())


def test_stable_views_are_there_after_the_server_and_at_another_one(store: Store, database: str) -> None:
    name = StableViews(store, Limits()).open("ana").name
    with opened(database) as other:
        rows, _ = StableViews(other, Limits()).read("ana", name, 30, None)
        with other.connection() as connection:
            kept = connection.execute("SELECT name FROM paging_view").fetchone()[0]
    rest, _ = StableViews(store, Limits()).read("ana", name, ROWS, None)
    assert rows + rest == sorted(products())
    assert name not in kept  # only its hash is in the table


def test_threads_that_read_one_view_get_each_row_once(store: Store, kind: type[MemoryViews | StableViews]) -> None:
    views = kind(store, Limits())
    name = views.open("ana").name
    got: list[Row] = []

    def read_some() -> None:
        for _ in range(9):
            got.extend(views.read("ana", name, 5, None)[0])

    threads = [threading.Thread(target=read_some) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(products())[:180]


def test_memory_grows_with_the_views_and_is_given_back_when_they_expire(tmp_path: Path) -> None:
    clock, sizes = Clock(), [0]
    with opened(str(tmp_path / "shop.db")) as store:
        store.create(products(3000))
        views = MemoryViews(store, Limits(idle_s=10), clock)
        views.open("ana")
        tracemalloc.start()
        try:
            for _ in range(8):
                views.open("bia")
                sizes.append(tracemalloc.get_traced_memory()[0])
            clock.now += 11
            views.census()
            left = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    growth = [later - earlier for earlier, later in pairwise(sizes)]
    assert min(growth) > 3000 * 50  # a row is at least a tuple, a number and a text
    assert max(growth) < 2 * min(growth)
    assert left < growth[0]
