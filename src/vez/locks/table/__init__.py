"""The turn table: who holds a name, who waits for it, and who is next. A pure state machine.

    step(table, command, now_ns) -> (table, effects)

A `Table` is one frozen value and belongs to one name of one kind: a lock, a semaphore or an election. Nothing in this
package reads a clock, draws a random number, starts a thread or does I/O. A shell around it keeps the map of names,
serialises the commands of each name, passes the time in, and carries the effects out. `memory:` is such a shell
(`vez.locks.engines.memory`); `vez check table:lock` is another, with processes that send the commands as messages.

Commands (`commands.py`):

    Enlist    a client asks: granted at once, or placed at the end of the queue
    Leave     a request ends, whatever its state: held (a release), waiting (a withdrawal) or lost
    Break     all holders are released by force, after the grace that each of them asked for
    Transfer  the leader makes a candidate leader
    Crash     a client is gone, and all its requests with it
    Tick      time has passed: graces that are over end

Effects (`effects.py`) tell the shell whom to inform: `Granted`, `Queued`, `Refused`, `Lost`, `Vacant`, `Alarm`.

The duties of the shell:

- It passes the commands of one name one after the other, with a clock that never goes back.
- It carries out the effects in their order: a loss is told before somebody else is granted.
- It sends a `Tick` at the time of an `Alarm` or later. Every command first ends the graces that are over, so a late
  tick only delays a grant.
- It keeps the value for longer than the requests: with a new `Table` the tokens of the name would begin again.

The guarantees of a table, which the checker and the tests verify (docs/decisions/turn-table.md):

- Locks: one exclusive holder, or any number of shared ones. Semaphores: at most `limit` holders. Elections: one leader.
- First come, first served: nobody is granted while an earlier request waits. So neither readers nor writers starve.
  In elections the heaviest candidate wins when the leadership is vacant, among equals the first; a leader is never
  overthrown.
- Tokens and terms strictly increase. The token of a lock or a permit is drawn on arrival, the term of a leader when it
  is elected, both from one counter.
- A broken holder keeps its place until it leaves or its grace is over. It is told first, and nobody is granted before.
- A request that has left, or whose client has crashed, is never granted.
- The position of a waiting request never rises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vez.locks.table.commands import Break, Command, Crash, Enlist, Leave, Tick, Transfer
    from vez.locks.table.effects import Alarm, Effect, Granted, Lost, Queued, Refused, Vacant
    from vez.locks.table.machine import step
    from vez.locks.table.places import estimate, in_turn, position
    from vez.locks.table.values import Forced, Seat, Table

__all__ = [
    "Alarm",
    "Break",
    "Command",
    "Crash",
    "Effect",
    "Enlist",
    "Forced",
    "Granted",
    "Leave",
    "Lost",
    "Queued",
    "Refused",
    "Seat",
    "Table",
    "Tick",
    "Transfer",
    "Vacant",
    "estimate",
    "in_turn",
    "position",
    "step",
]

_HOMES = {
    "commands": ("Break", "Command", "Crash", "Enlist", "Leave", "Tick", "Transfer"),
    "effects": ("Alarm", "Effect", "Granted", "Lost", "Queued", "Refused", "Vacant"),
    "machine": ("step",),
    "places": ("estimate", "in_turn", "position"),
    "values": ("Forced", "Seat", "Table"),
}


def __getattr__(name: str) -> Any:
    """Loaded when first used: engines without a table use some of its functions, and not its structs."""
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(__import__(f"{__name__}.{module}", fromlist=names), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
