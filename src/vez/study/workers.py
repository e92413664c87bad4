"""Worker processes of a sweep, which never outlive it.

They end with the process that started them, however it ends. After an error or an interrupt they are terminated, not
waited for.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
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
    count = 0
    # Not `as_completed`: an interrupt in it leaves a future locked, and the pool then waits for that future for ever.
    done: SimpleQueue[Future[T]] = SimpleQueue()
    # spawn, because a fork would copy locks that the thread of the progress bar may hold
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_follow_parent) as pool:
        try:
            with _signals_after():
                for task in tasks:
                    pool.submit(work, *task).add_done_callback(done.put)
                    count += 1
            for _ in range(count):
                yield done.get().result()
        except BrokenProcessPool as error:
            raise WorkerDied(
                "a worker process died before its work was done", hint="out of memory? try --jobs 1"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(active_children()) - others:
                child.terminate()
            raise


@contextmanager
def _signals_after() -> Iterator[None]:
    """Handle SIGINT and SIGTERM when this is over.

    A `KeyboardInterrupt` in the middle of `submit` could leave a lock of the pool or of a future locked, or a worker
    that nobody terminates.
    """
    if current_thread() is not main_thread():  # others are not interrupted
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for late in came:
            signal.raise_signal(late)


def _follow_parent() -> None:
    """Initializer of a worker: ignore SIGINT, and exit when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles the interrupt and terminates the workers
    parent = parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        Thread(target=follow, daemon=True).start()
