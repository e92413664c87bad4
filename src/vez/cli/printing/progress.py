"""A progress bar or a status line for slow commands: on stderr, and only if it is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.status import Status

from vez.cli.printing.consoles import new_console


class Step(Protocol):
    """A function that reports that one more step is done, and optionally the next step."""

    def __call__(self, words: str = "", /) -> None: ...


@contextmanager
def progress(title: str, total: int) -> Iterator[Step]:
    """A progress bar of `total` steps; prints nothing if stderr is not a terminal."""
    console = new_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)

        def step(words: str = "", /) -> None:
            bar.update(task, advance=1, description=f"{title} {words}".rstrip())

        yield step


class Line:
    """A status line that is removed when the work is done."""

    def __init__(self) -> None:
        self._console = new_console(stderr=True)
        self._status: Status | None = None

    def __enter__(self) -> Line:
        return self

    def show(self, text: str) -> None:
        """Replace the line."""
        if not self._console.is_terminal:
            return
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        self._status.update(text)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()
