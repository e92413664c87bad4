"""Worker processes of a sweep, which never outlive it.

They end with the process that started them, however it ends. After an error or an interrupt they are terminated, not
waited for.
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
    """Run all tasks and yield each result as it completes. With one worker, run them in this process."""
    if workers <= 1:
        for task in tasks:
            yield work(*task)
        return
    others = set(active_children())
    # spawn, because a fork would copy locks that the thread of the progress bar may hold
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
    """Initializer of a worker: ignore SIGINT, and exit when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles the interrupt and terminates the workers
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        Thread(target=follow, daemon=True).start()
