"""Programs: the table of lessons. A lesson is a function that returns a `Program`, with its topic and its settings.

    exercises   the exercises of the course text
    classics    lost updates, lost notifications, queues, readers and writers
    tools       flags, monitors, locks, maps and thread-local variables
    executors   thread pools, futures, fork-join

The default settings are small, so that the checker can try every interleaving. `Lesson.real` holds the settings of
`vez threads`; they are those of the text if it gives any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import msgspec

from vez.threads.program import Program
from vez.threads.programs import classics, executors, exercises, tools


class Lesson(msgspec.Struct, frozen=True):
    """A program, its topic, and its settings."""

    maker: Callable[..., Program]
    teaches: str
    right: Mapping[str, Any] = {}
    """Settings with which the claim holds in every interleaving."""
    wrong: Mapping[str, Any] | None = None
    """Settings with which the checker finds an interleaving that breaks the claim."""
    real: Mapping[str, Any] = {}
    """Settings of `vez threads` that differ from those of the checker."""
    compared: tuple[Mapping[str, Any], ...] = ()
    """Settings that `vez threads` runs one after the other, to compare their measurements."""
    patience_s: float = 60.0
    """Seconds after which `vez threads` ends the threads that still run."""
    sound: Mapping[str, tuple[Any, ...]] = {}
    """Values of the settings that decide, with which the claim holds in every interleaving. By default those of `right`
    decide, and those of `wrong`."""

    def missing(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that are needed for the promise that the claim holds, each with its value; empty if these
        settings of `vez threads` promise it. Without the promise, each run may end in either way."""
        defaults = {name: parameter.default for name, parameter in signature(self.maker).parameters.items()}
        given, right = {**defaults, **self.real, **settings}, {**defaults, **self.right}
        sound = self.sound or {name: (right[name],) for name in (*self.right, *(self.wrong or ()))}
        return {name: values[0] for name, values in sound.items() if given[name] not in values}


LESSONS: dict[str, Lesson] = {
    # Exercises, as the text gives them.
    "hello": Lesson(
        exercises.hello,
        "threads run in any order; join is the only promise",
        right={"ordered": True}, wrong={}, real={"threads": 5},
    ),
    "join": Lesson(
        exercises.joining,
        "join, timed join, daemon and is-alive",
        right={}, wrong={"wait": "timed"}, real={"rounds": 10},
    ),
    "printed-counter": Lesson(
        exercises.printed_counter,
        "what is printed inside the lock is in order, what is printed outside is not",
        right={"lock": True, "inside": True}, wrong={"lock": True}, real={"threads": 10, "rounds": 20},
    ),
    "mslunch": Lesson(
        exercises.mslunch,
        "independent data may have a lock each",
        right={}, wrong={"locks": "none"}, real={"rounds": 1000}, sound={"locks": ("two", "one")},
    ),
    "two-locks": Lesson(
        exercises.two_locks,
        "locks in opposite orders end in a deadlock, sooner or later",
        right={"ordered": True}, wrong={}, real={"rounds": 100_000},
    ),
    "ring": Lesson(
        exercises.ring,
        "threads that talk by queues need no lock",
        right={}, real={"threads": 30, "letters": 80}, patience_s=3600.0,
    ),
    # The classics.
    "counter": Lesson(
        classics.counter,
        "an update is a read and a write: without a lock, updates get lost",
        right={"lock": "step"}, wrong={}, sound={"lock": ("step", "loop", "atomic", "cas")},
    ),
    "wait-notify": Lesson(
        classics.wait_notify,
        "test and wait under the same lock, or a notification is lost",
        right={"careful": True}, wrong={},
    ),
    "blocking-queue": Lesson(
        classics.blocking_queue,
        "a full queue blocks producers, an empty one consumers: a condition for each",
        right={}, wrong={"producers": 2, "items": 1, "one_condition": True}, sound={"one_condition": (False,)},
    ),
    "readers-writers": Lesson(
        classics.readers_writers,
        "a read/write lock: who wakes up must look again",
        right={}, wrong={"again": False},
    ),
    "pipeline": Lesson(classics.pipeline, "a ready-made queue hides the conditions"),
    # The toolbox.
    "busy-wait": Lesson(
        tools.busy_wait,
        "busy waiting is correct and burns a processor; a condition sleeps",
        right={}, compared=({"busy": True}, {"busy": False}),
    ),
    "volatile": Lesson(
        tools.volatile,
        "a flag that is not volatile may be read once and never again",
        right={"volatile": True}, wrong={}, patience_s=2.0,
    ),
    "torn-long": Lesson(
        tools.torn_long, "a number of two words is not written at once", right={"whole": True}, wrong={}
    ),
    "monitor": Lesson(
        tools.monitor,
        "synchronized excludes only on the same object",
        right={"objects": 1}, wrong={}, real={"rounds": 10_000},
    ),
    "namer": Lesson(
        tools.namer,
        "a smaller block is faster and protects less",
        right={"block": False}, wrong={},
    ),
    "reentrant": Lesson(
        tools.reentrant,
        "a lock that is not reentrant blocks its own holder",
        right={"reentrant": True}, wrong={},
    ),
    "try-finally": Lesson(
        tools.try_finally,
        "a lock is released in finally, or an exception keeps it for ever",
        right={"final": True}, wrong={},
    ),
    "put-if-absent": Lesson(
        tools.put_if_absent_map,
        "two atomic steps are not one: check-then-act",
        right={"atomic": True}, wrong={},
    ),
    "thread-local": Lesson(
        tools.thread_local,
        "what is not shared needs no lock",
        right={"local": True}, wrong={},
    ),
    "thread-pool": Lesson(
        executors.thread_pool,
        "a pool reuses threads; how many pays depends on how long tasks block",
        right={}, wrong={"peek": True, "capacity": 0}, sound={"peek": (False,)},
        compared=tuple({"workers": workers, "tasks": 16, "work_s": 0.1} for workers in (1, 2, 4, 8, 16, 32)),
    ),
    "future": Lesson(
        executors.future,
        "a future is a result that one can wait for",
        right={}, wrong={"waits": False},
    ),
    "invoke": Lesson(
        executors.invoke,
        "invoke-any takes the first result, invoke-all waits for every one",
        right={"all": True}, wrong={}, real={"tasks": 5},
    ),
    "fork-join": Lesson(
        executors.fork_join,
        "split until the threshold; a worker that joins must help, or a small pool deadlocks",
        right={"helping": True}, wrong={}, real={"workers": 4, "numbers": 64, "threshold": 8, "helping": True},
    ),
}  # fmt: skip
PROGRAMS: dict[str, Callable[..., Program]] = {name: lesson.maker for name, lesson in LESSONS.items()}
