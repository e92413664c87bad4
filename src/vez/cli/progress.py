"""A bar for commands that take a while: on stderr, and only where somebody sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Step(Protocol):
    """Say that one more step is done, and perhaps what comes next."""

    def __call__(self, words: str = "", /) -> None: ...


@contextmanager
def progress(title: str, total: int) -> Iterator[Step]:
    """A progress bar of so many steps; silent when stderr is not a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)

        def step(words: str = "", /) -> None:
            bar.update(task, advance=1, description=f"{title} {words}".rstrip())

        yield step
