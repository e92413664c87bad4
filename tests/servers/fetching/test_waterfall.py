"""A page and its twelve files: the order of requests, the requests under way at the same time, and the picture."""

from __future__ import annotations

import shlex
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.cli.app import run
from vez.draw.lanes.text import text
from vez.errors import BadData, EngineUnavailable, MissingPart
from vez.servers.fetching import browser as browsers
from vez.servers.fetching.browser import load_in_browser
from vez.servers.fetching.client import Fetch, Load, load, longest_row, most_at_once
from vez.servers.fetching.page import FILES, INDEX, needed, write_page
from vez.servers.fetching.picture import svg, waterfalls
from vez.servers.fetching.trial import THREADS, loads
from vez.servers.serving import Answer, Settings, make_server
from vez.servers.serving.pages import Pages

PATIENCE_S = 20.0
CONNECTIONS = 6


class Together(Pages):
    """Pages that are answered when this many are requested at the same time; `index.html` is answered at once."""

    def __init__(self, folder: Path, together: int) -> None:
        super().__init__(folder, cache_bytes=0)
        self.order: list[str] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(together)

    def decide(self, question: tuple[str, ...]) -> Answer:
        name = question[-1] or INDEX
        with self._lock:
            self.order.append(name)
            self._now += 1
            self.most = max(self.most, self._now)
        if name != INDEX:
            self._barrier.wait(PATIENCE_S)  # raises, so that the file has status 500, if the others do not come
        answer = super().decide(question)
        with self._lock:
            self._now -= 1
        return answer


@contextmanager
def served(folder: Path, together: int, model: str = "pool") -> Iterator[tuple[Together, int]]:
    write_page(folder)
    pages = Together(folder, together)
    with make_server(model, pages, settings=Settings(workers=THREADS, stages=(2, THREADS, 2))) as server:
        yield pages, server.address[1]


def test_one_connection_asks_for_one_file_after_the_other(tmp_path: Path) -> None:
    with served(tmp_path, 1) as (pages, port):
        found = load("x", "127.0.0.1", port, 1)
    assert pages.order == [INDEX, *FILES]
    assert pages.most == found.at_once == 1
    assert [fetch.size for fetch in found.fetches] == [(tmp_path / name).stat().st_size for name in (INDEX, *FILES)]


@pytest.mark.parametrize("connections", [6, 12])
@pytest.mark.parametrize("model", ["pool", "thread-per-request", "staged", "loop"])
def test_several_connections_ask_at_once_after_the_page_is_known(tmp_path: Path, model: str, connections: int) -> None:
    """Each file waits until as many as there are connections are asked for."""
    with served(tmp_path, connections, model) as (pages, port):
        found = load("x", "127.0.0.1", port, connections)
    assert pages.order[0] == INDEX
    assert sorted(pages.order[1:]) == sorted(FILES)
    assert pages.most == found.at_once == connections
    assert [fetch.name for fetch in found.fetches] == [INDEX, *FILES]
    assert {fetch.connection for fetch in found.fetches} == set(range(1, connections + 1))
    assert all(fetch.queued == found.fetches[0].end for fetch in found.fetches[1:])
    assert all(one.queued <= one.begin <= one.sent <= one.first <= one.end for one in found.fetches)


def test_a_server_with_one_thread_hides_nothing(tmp_path: Path) -> None:
    """The server keeps the first file until every connection has begun, which its call of the clock shows."""
    asking: set[int] = set()
    asked = threading.Event()

    def clock() -> float:
        now = time.perf_counter()
        asking.add(threading.get_ident())
        if len(asking) > CONNECTIONS:  # the main thread has read the page
            asked.set()
        return now

    class Waiting(Pages):
        def decide(self, question: tuple[str, ...]) -> Answer:
            if question[-1] in FILES:
                asked.wait(PATIENCE_S)
            return super().decide(question)

    write_page(tmp_path)
    with make_server("single", Waiting(tmp_path, cache_bytes=0)) as server:
        assert load("x", *server.address, CONNECTIONS, clock).at_once == CONNECTIONS
    for loaded in loads("single", 1, CONNECTIONS, browser=False):
        assert (loaded.served_at_once, loaded.waits) == (1, 13)


@pytest.mark.browser
def test_a_real_browser_reads_the_page_and_then_asks_for_six_files_at_once(tmp_path: Path, chromium: str) -> None:
    with served(tmp_path, 6) as (pages, port):
        found = load_in_browser("x", port, chromium)
    assert pages.order[0] == INDEX
    assert sorted(pages.order[1:]) == sorted(FILES)
    assert pages.most == found.at_once == 6
    assert (found.fetches[0].name, found.fetches[0].begin) == (INDEX, 0.0)
    assert sorted(fetch.name for fetch in found.fetches[1:]) == sorted(FILES)
    assert all(fetch.begin >= found.fetches[0].first for fetch in found.fetches[1:])


def test_what_a_page_needs() -> None:
    html = (
        '<link rel=stylesheet href=a.css><link rel="icon" href="b.ico"><script src="c.js"></script><script>1</script>'
        '<img src="d.svg"><img src="d.svg"><img src="https://elsewhere/e.svg"><img src="//elsewhere/f.svg"><img>'
    )
    assert needed(html) == ["a.css", "c.js", "d.svg"]


@given(st.text(max_size=80))
def test_any_text_may_be_a_page(html: str) -> None:
    assert isinstance(needed(html), list)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with served(tmp_path, 1) as (_, port):
        (tmp_path / "menu.js").unlink()
        with pytest.raises(EngineUnavailable, match=r"menu\.js could not be fetched: status 404"):
            load("x", "127.0.0.1", port, 1)
    with pytest.raises(EngineUnavailable, match=r"index\.html could not be fetched"):
        load("x", "127.0.0.1", port, 1)


def test_a_browser_that_is_not_there_or_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineUnavailable, match="did not load the page"):
        load_in_browser("x", 1, "/bin/false")
    with pytest.raises(BadData, match="said nothing"):
        load_in_browser("x", 1, "/bin/true")
    monkeypatch.setattr(browsers, "NAMES", ())
    with pytest.raises(MissingPart):
        loads("pool", 1, 2, browser=True)


def test_a_browser_that_is_cut_leaves_no_process_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser has several processes, which write into its profile until the last of them is gone."""
    folder, fake = tmp_path / "temporary", tmp_path / "browser"
    folder.mkdir()
    fake.write_text(
        f"#!/bin/sh\nmkdir ${{TMPDIR:-{folder}}}/lock\nfor profile; do case $profile in --user-data-dir=*) break; esac; done\n"
        "(i=0; while [ $i -lt 9000000 ]; do i=$((i + 1)); : > ${profile#*=}/$((i % 9)); done) &\nwait\n"
    )
    fake.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(browsers, "PATIENCE_S", 0.3)
    with pytest.raises(EngineUnavailable, match="TimeoutExpired"):
        load_in_browser("x", 1, str(fake))
    assert list(folder.iterdir()) == []


SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 9)).map(lambda one: (one[0], one[0] + one[1])), max_size=9
)


@given(SPANS)
def test_most_at_once_and_longest_row(spans: list[tuple[float, float]]) -> None:
    moments = [sum(begin <= at < end for begin, end in spans) for at in range(30)]
    assert most_at_once(spans) == max(moments)
    best = [0] * 31  # the longest row that ends before each moment
    for at in range(1, 31):
        best[at] = max(best[at - 1], *(best[int(begin)] + 1 for begin, end in spans if end == at), 0)
    assert longest_row(spans) == best[30]


def example() -> list[Load]:
    slow = [Fetch(name, 1, 30.0 if place else 0.0, 30.0 * place, 30.0 * place + 1, 30.0 * place + 28, 30.0 * place + 30)
            for place, name in enumerate((INDEX, *FILES))]  # fmt: skip
    fast = [msgspec.structs.replace(fetch, begin=30.0, sent=31.0, first=58.0, end=60.0) for fetch in slow[1:]]
    return [Load("one after the other", 1, slow), Load("at once", 12, [slow[0], *fast])]


def test_the_picture_has_every_file_on_one_axis() -> None:
    picture = svg(example())
    assert picture.count("<svg ") == picture.count("</svg>") == 3
    for name in (INDEX, *FILES):
        assert picture.count(f">{name}<") == 2
    assert {lanes.end_ms for lanes in waterfalls(example())} == {390.0}


@pytest.mark.parametrize("width", [30, 60, 100])
def test_the_picture_fits_the_terminal(width: int) -> None:
    one, many = (text(lanes, width) for lanes in waterfalls(example()))
    assert all(len(line) <= width for line in (one + many).splitlines())
    last = next(line for line in one.splitlines() if line.startswith("picture"[:5])).rstrip()
    assert "░" in last
    assert len([line for line in many.splitlines() if "█" in line]) >= 13


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for suffix in ("svg", "html", "txt", "md", "json"):
        assert run(shlex.split(f"waterfall --disk 2 -o {tmp_path}/x.{suffix}")) == 0
    printed = capsys.readouterr().out
    assert all(len(line) <= 60 for line in printed.splitlines())
    assert "one after the other" in printed
    assert "13 waits in a row became" in " ".join(printed.split())
    assert msgspec.json.decode((tmp_path / "x.json").read_bytes(), type=list[Load])[0].waits == 13
    assert "| one after the other |" in (tmp_path / "x.md").read_text()
    assert "<figure><svg" in (tmp_path / "x.html").read_text()
    assert "picture-7.svg" in StringIO((tmp_path / "x.txt").read_text()).read()
