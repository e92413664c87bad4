"""The turn table: who holds a name, who waits for it, and who is next. A pure machine.

    step(table, command, now_ns) -> (table, effects)

A `Table` is one frozen value and belongs to one name of one kind: a lock, a semaphore or an election. Nothing in this
package reads a clock, draws a random number, starts a thread or does I/O. A shell around it keeps the map of names,
serialises the commands of each name, passes the time in, and carries the effects out. `memory:` is such a shell
(`vez.engines.memory`); `vez check table:lock` is another, with processes that send the commands as messages.

Commands (`commands.py`):

    Enlist    a client asks: granted at once, or placed at the end of the queue
    Leave     a request ends, whatever it is: held (a release), waiting (a withdrawal) or lost
    Break     everything that is held is taken by force, after the grace that each holder asked for
    Transfer  the leader makes a candidate leader
    Crash     a client is gone, and all its requests with it
    Tick      time has passed: graces that are over end

Effects (`effects.py`) say what the shell owes to whom: `Granted`, `Queued`, `Refused`, `Lost`, `Vacant`, `Alarm`.

The duties of the shell:

- Commands of one name one after the other, with a clock that never goes back.
- Effects in the order in which they stand: a loss is told before somebody else is granted.
- A `Tick` at the time of an `Alarm` or later. Every command first ends the graces that are over, so a late tick only
  delays a grant.
- The value must outlive the requests: with a new `Table` the tokens of the name would begin again.

What a table promises, and what the checker and the tests hold it to (docs/decisions/turn-table.md):

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

from vez.table.commands import Break, Command, Crash, Enlist, Leave, Tick, Transfer
from vez.table.effects import Alarm, Effect, Granted, Lost, Queued, Refused, Vacant
from vez.table.machine import step
from vez.table.places import estimate, in_turn, position
from vez.table.values import Forced, Seat, Table

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
