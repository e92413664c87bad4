"""The page in a real browser: Chromium fetches it, and reports the times (Resource Timing)."""

from __future__ import annotations

import contextlib
import html
import os
import re
import shutil
import signal
import subprocess
import tempfile

import msgspec

from vez.errors import BadData, EngineUnavailable, MissingPart
from vez.servers.fetching.client import Fetch, Load
from vez.servers.fetching.page import INDEX

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync", "dump-dom",
)  # fmt: skip
CONNECTIONS = 6
"""Largest number of connections of a browser to one server, over HTTP/1.1."""
PATIENCE_S = 60.0
UNWIND_S = 5.0


class _Entry(msgspec.Struct, frozen=True):
    """The times of one file, as the browser reports them."""

    name: str
    queued: float
    connecting: float
    connected: float
    sent: float
    first: float
    end: float


def find_browser() -> str:
    """The path of a Chromium."""
    for name in NAMES:
        if (found := shutil.which(name)) is not None:
            return found
    raise MissingPart("there is no Chromium on this machine", hint="install your distribution's chromium")


def load_in_browser(title: str, port: int, chromium: str | None = None) -> Load:
    """Let a browser load the page. It opens at most six connections to a server, and chooses the order of the files."""
    command = [chromium or find_browser(), *(f"--{option}" for option in OPTIONS)]
    with tempfile.TemporaryDirectory(prefix="vez-browser-") as folder:
        try:
            page = _run([*command, f"--user-data-dir={folder}", f"http://127.0.0.1:{port}/{INDEX}"], folder)
        except (OSError, subprocess.SubprocessError) as error:
            raise EngineUnavailable(f"the browser did not load the page: {type(error).__name__}") from error
    entries = _entries(page)
    return Load(title, CONNECTIONS, [_fetch(entry, _begin(entries[0])) for entry in entries])


def _run(command: list[str], folder: str) -> str:
    """Run a browser and return its output. All of its processes end with this call; its temporary files are in the
    folder."""
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, process_group=0,
        env={**os.environ, "TMPDIR": folder},
    )  # fmt: skip
    try:
        page, _ = process.communicate(timeout=PATIENCE_S)
    except BaseException:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=UNWIND_S)  # until all of its processes have closed their output
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command[0])
    return page


def _entries(page: str) -> list[_Entry]:
    """The times of the page and of its files, as the page shows them; the page comes first."""
    found = re.search(r'<pre id="timing"[^>]*>(.*?)</pre>', page, re.DOTALL)
    try:
        entries = msgspec.json.decode(html.unescape(found[1]) if found else "[]", type=list[_Entry])
    except msgspec.MsgspecError:
        entries = []
    if not entries:
        raise BadData("the browser said nothing about its requests")
    return entries


def _begin(entry: _Entry) -> float:
    """The time at which a connection was available, or at which the browser began to open one."""
    return entry.connecting if entry.connected > entry.connecting else entry.sent


def _fetch(entry: _Entry, start: float) -> Fetch:
    """One file, with times since the request for the page: before that, the browser was busy with its own start."""
    name = entry.name.rpartition("/")[2] or INDEX
    moments = (entry.queued, _begin(entry), entry.sent, entry.first, entry.end)
    queued, begin, sent, first, end = (max(0.0, at - start) for at in moments)
    return Fetch(name, 0, queued, begin, sent, first, end)
