"""Signals that end `vez cluster`. It ends after its nodes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from vez.cli.app import Terminated
from vez.worlds.node.cluster.cluster import Cluster


class Ending:
    """The effect of signals on a run. They cancel it, so that it can wait for its nodes; an exception would leave them
    behind."""

    def __init__(self) -> None:
        self._came = 0
        self._judged = False

    @contextmanager
    def judged_or_cancelled(self, running: Cluster) -> Iterator[None]:
        """Handle signals during the body. The first Ctrl-C after the start of the nodes ends the run, which is judged;
        every other signal cancels it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def end(number: int) -> None:
            if number == signal.SIGINT and running.has_begun and not self._judged:
                self._judged = True
                running.end("interrupted")
            elif task is not None:
                self._came = number
                task.cancel()

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        caught = [number for number, handler in before.items() if handler is not signal.SIG_IGN]  # as nohup does
        for number in caught:
            loop.add_signal_handler(number, end, number)
        try:
            yield
        finally:
            for number in caught:
                loop.remove_signal_handler(number)
                signal.signal(number, before[number])

    def cause(self) -> BaseException:
        """The exception for the signal that cancelled a run."""
        return Terminated() if self._came in (signal.SIGTERM, signal.SIGHUP) else KeyboardInterrupt()
