"""Programs of threads over shared memory: written once, explored over all interleavings, run on real threads."""

from vez.threads.operations import (
    Condition,
    Lock,
    Operation,
    Program,
    Queue,
    acquire,
    add,
    get,
    notify,
    notify_all,
    put,
    read,
    release,
    wait,
    write,
)

__all__ = [
    "Condition",
    "Lock",
    "Operation",
    "Program",
    "Queue",
    "acquire",
    "add",
    "get",
    "notify",
    "notify_all",
    "put",
    "read",
    "release",
    "wait",
    "write",
]
