"""Trial: the page behind a real server whose disk is slow, loaded in several ways."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from vez.servers.fetching.browser import find_browser, load_in_browser
from vez.servers.fetching.client import Load, load
from vez.servers.fetching.page import FILES, write_page
from vez.servers.serving import Server, Settings, make_server
from vez.servers.serving.pages import Pages
from vez.servers.serving.recording import Phase, Recorder

THREADS = len(FILES) + 1
"""Threads of the server: so many that a request never waits for a thread, unless the model has only one."""


@contextlib.contextmanager
def page_server(model: str, disk_ms: float, recorder: Recorder | None = None) -> Iterator[Server]:
    """The page behind a server of a model. No file is kept in memory, so that every file comes from the disk."""
    settings = Settings(workers=THREADS, stages=(2, THREADS, 2))
    with tempfile.TemporaryDirectory(prefix="vez-page-") as folder:
        write_page(Path(folder))
        pages = Pages(Path(folder), disk_ms=disk_ms, cache_bytes=0)
        with make_server(model, pages, settings=settings, recorder=recorder) as server:
            yield server


def loads(
    model: str, disk_ms: float, connections: int, *, browser: bool, step: Callable[[str], None] = lambda words: None
) -> list[Load]:
    """The page fetched one file after the other, over several connections, and by a browser if wanted."""
    recorder = Recorder()
    chromium = find_browser() if browser else ""
    with page_server(model, disk_ms, recorder) as server:
        host, port = server.address
        ways: list[Callable[[], Load]] = [
            lambda: load("one after the other", host, port, 1),
            lambda: load(f"at once, over {connections} connections", host, port, connections),
        ]
        if browser:
            ways.append(lambda: load_in_browser("in Chromium", port, chromium))
        found = []
        for way in ways:
            already = len(recorder.spans)
            loaded = way()
            spans = [(span.begin, span.end) for span in recorder.spans[already:] if span.phase is Phase.DECIDE]
            found.append(msgspec.structs.replace(loaded, served=spans))
            step(loaded.title)
    return found
