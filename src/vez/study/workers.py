"""Workers: processes that share the work of a sweep, and never outlive it.

They die with the process that started them, however it ends; and when the work is given up (an error, an
interruption), they are not waited for.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from vez.errors import WorkerDied

T = TypeVar("T")


def in_order_of_completion(work: Callable[..., T], tasks: Iterable[tuple[Any, ...]], workers: int) -> Iterator[T]:
    """Do all tasks, in this process if there is but one worker, and give each result as it comes."""
    if workers <= 1:
        for task in tasks:
            yield work(*task)
        return
    others = set(active_children())
    # spawn: a fork of a process that shows a progress bar would copy its threads' locks
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_follow_parent) as pool:
        try:
            for future in as_completed([pool.submit(work, *task) for task in tasks]):
                yield future.result()
        except BrokenProcessPool as error:
            raise WorkerDied(
                "a worker process died before its work was done", hint="out of memory? try --jobs 1"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(active_children()) - others:
                child.terminate()
            raise


def _follow_parent() -> None:
    """Runs in a worker, before its first task."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is for the parent, who ends the workers
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        Thread(target=follow, daemon=True).start()
