"""What a slow command is doing, on standard error: a live line or a bar on a terminal, otherwise a line every few
seconds. Never on standard output, which belongs to the result.

A thread says the first word, so that it comes in time whatever the command does. `VEZ_PROGRESS=none` turns all of it
off, for example in a cron job whose output is mailed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what is said without a terminal needs no rich, which takes long to load
    from rich.progress import Progress
    from rich.status import Status

FIRST_S = 0.7
"""Time until the first word: within a second, but not for a command that ends soon."""
EVERY_S = 5.0
"""Time between two lines, if standard error is not a terminal."""
SWITCH = "VEZ_PROGRESS"


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def is_off() -> bool:
    """True if commands shall not say what they do. Whoever prints such words without a `Line` asks this first."""
    return os.environ.get(SWITCH) == "none"


class Line:
    """What is being done: a status line that is removed at the end, or lines.

    Lines may be nested. Without a terminal the outermost one speaks, with the words of the innermost one that has any.
    """

    _open: list[Line] = []  # noqa: RUF012 - a process has one standard error

    def __init__(self, text: str = "", *, live: bool = True) -> None:
        """`live`: it may use a line of the terminal, because nothing else is printed there meanwhile."""
        self._text = text
        self._is_live = live
        self._status: Status | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Line:
        speaks = self._is_live if _is_terminal() else not Line._open
        Line._open.append(self)
        if speaks and not is_off():
            self._thread = threading.Thread(target=self._live if _is_terminal() else self._speak, daemon=True)
            self._thread.start()
        return self

    def show(self, text: str) -> None:
        """Replace the words."""
        self._text = text
        if self._status is not None:
            self._status.update(_plain(text))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        Line._open.remove(self)
        if self._thread is not None:
            self._thread.join()
        if self._status is not None:
            self._status.stop()

    def _live(self) -> None:
        if self._over.wait(FIRST_S):
            return
        from vez.cli.printing.consoles import new_console

        status = new_console(stderr=True).status(_plain(self._text))
        status.start()
        self._status = status
        status.update(_plain(self._text))  # it may have changed meanwhile

    def _speak(self) -> None:
        """Say the first word, and then more every few seconds."""
        began, pause, since = time.monotonic(), FIRST_S, ""
        while not self._over.wait(pause):
            text = next((line._text for line in reversed([*Line._open]) if line._text), "")
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed or full: only a hint is lost
                sys.stderr.write(f"vez: at work{since}: {text}\n")
                sys.stderr.flush()
            pause = EVERY_S
            since = f" for {time.monotonic() - began + pause:.0f} s"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


class Bar:
    """The steps of some work, as a bar on a terminal, and in words elsewhere."""

    def __init__(self, title: str, total: float, line: Line, bar: Progress | None = None) -> None:
        self._title, self._total, self._line, self._bar = title, total, line, bar
        self._task = None if bar is None else bar.add_task(title, total=total)
        self._done = 0.0

    def __call__(self, words: str = "", /) -> None:
        """Report that one more step is done, and optionally which."""
        self.at(self._done + 1, words)

    def at(self, done: float, words: str = "") -> None:
        """Report how many steps are done."""
        self._done, what = done, f"{self._title} {words}".rstrip()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, description=what)
        self._line.show(f"{what}, {done:,.0f} of {self._total:,.0f}")


@contextmanager
def progress(title: str, total: float) -> Iterator[Bar]:
    """A bar of `total` steps."""
    with Line(title, live=False) as line:
        if not _is_terminal() or is_off():
            yield Bar(title, total, line)
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from vez.cli.printing.consoles import new_console

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=new_console(stderr=True), transient=True) as bar:
            yield Bar(title, total, line, bar)
