"""Programs of threads over shared memory: written once, explored over all interleavings, run on real threads.

    operations, program      the operations that threads yield; a program with its claims
    programs                 the programs of `vez threads`
    real, shared, recording  a program on real threads; its shared objects; the record of the run
    deadlock                 finding a deadlock of real threads
    native, sharing          measurements: the cost of locks and atomic steps; false sharing and affinity
    scheduled                execution at a fixed rate and at a fixed delay

`vez.worlds.check.threads` explores all interleavings of a program. This room imports no other room. May be imported
by: cli, worlds.check.
"""

from vez.threads.operations import (
    Condition,
    Lock,
    Map,
    Operation,
    Output,
    Queue,
    ThreadLocal,
    acquire,
    add,
    alive,
    compare_and_set,
    get,
    join,
    lookup,
    notify,
    notify_all,
    poll,
    put,
    put_if_absent,
    read,
    release,
    say,
    sleep,
    start,
    store,
    wait,
    write,
)
from vez.threads.program import Program

__all__ = [
    "Condition",
    "Lock",
    "Map",
    "Operation",
    "Output",
    "Program",
    "Queue",
    "ThreadLocal",
    "acquire",
    "add",
    "alive",
    "compare_and_set",
    "get",
    "join",
    "lookup",
    "notify",
    "notify_all",
    "poll",
    "put",
    "put_if_absent",
    "read",
    "release",
    "say",
    "sleep",
    "start",
    "store",
    "wait",
    "write",
]
