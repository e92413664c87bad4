"""One line that tells how far a long command is: on standard error, and only on a terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.status import Status


class Line:
    """A status line that goes away when the work is done."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
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
