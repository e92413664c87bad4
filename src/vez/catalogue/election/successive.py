"""Successive: elections one after the other, among the processes that are still alive.

Elections on rings and graphs are usually described as one election in which nobody crashes. This base class adds what
the course notes ask for: a new election whenever the leader is believed dead, and dead neighbours that are skipped.

Every message carries the stage that it belongs to: the dead processes that the election leaves out. A process that
learns of a crash ends its stage, and stands in the next one unless it knows a live leader. A process that receives a
message of a later stage joins that stage. Messages of earlier stages are dropped. A process that knows a live leader
ignores a request for an election.

Why this is right: with a perfect detector the sets of the dead only grow, and after the last crash has been detected
they are the same everywhere. The stage with that last set runs among live processes that all see the same ring or
graph, and no process crashes in it. The leader of an earlier stage differs from the leader of a later one only if the
later stage leaves it out, because it is dead. So no two live processes lead at once.
"""

from __future__ import annotations

from typing import ClassVar

from vez import core
from vez.core import Assumption, Io, ProcessId, Property

Stage = tuple[ProcessId, ...]
"""The dead that an election leaves out, in ascending order. Empty in the first one."""


class Successive(core.Election):
    """Base class of elections that can follow one another. A subclass defines `_stand` and `_forget`."""

    assumes: ClassVar[tuple[Assumption, ...]] = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.PERFECT_DETECTOR,
        Assumption.NO_RECOVERY,
    )
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)

    suspected: frozenset[int] = frozenset()  # the dead that this stage leaves out
    stage: Stage | None = None  # the same processes, once this stage's election is known here; None before
    taking_part: bool = False  # in this stage, whose leader is not known here yet
    leader: int | None = None  # of the last stage that ended here, until it dies

    def on_elect(self, io: Io) -> None:
        if not self.taking_part and self.leader is None:
            self._begin(io)

    def on_suspect(self, peer: int, io: Io) -> None:
        if peer not in self.suspected:
            self._leave_out(self.suspected | {peer}, io)

    def on_trust(self, peer: int, io: Io) -> None:
        """The peer came back, or it was alive all the time. The assumptions exclude both."""
        if peer in self.suspected:
            self.taking_part = self.taking_part or self.leader is not None
            self._leave_out(self.suspected - {peer}, io)

    def _leave_out(self, dead: frozenset[int], io: Io) -> None:
        """End this stage. Stand in the next one if an election was under way, or if the leader is dead."""
        needs_leader = self.taking_part or self.leader in dead
        self._end(dead, io)
        if needs_leader:
            self._begin(io)

    def _end(self, dead: frozenset[int], io: Io) -> None:
        self.suspected, self.stage, self.taking_part = dead, None, False
        self._forget()
        if self.leader in dead:
            self.leader = None
            io.elected(None)

    def _begin(self, io: Io) -> None:
        self.stage, self.taking_part = tuple(sorted(self.suspected)), True
        self._stand(io)

    def _is_current(self, stage: Stage, io: Io) -> bool:
        """True if this process is in that stage. It first joins the stage if it is later than its own."""
        if stage == self.stage:
            return True
        dead = frozenset(stage)
        if dead < self.suspected:
            return False  # its sender did not know of all crashes
        if not dead >= self.suspected:  # each of the two knows of a crash of which the other does not
            self._end(self.suspected | dead, io)
            self._begin(io)
            return False
        if dead != self.suspected:
            self._end(dead, io)
        self.stage, self.taking_part = stage, True
        self._join(io)
        return True

    def _decide(self, leader: int, io: Io) -> None:
        self.taking_part = False
        self.leader = leader
        io.elected(leader)

    def _stand(self, io: Io) -> None:
        """Send the first messages of this stage."""
        raise NotImplementedError

    def _join(self, io: Io) -> None:
        """Called when another process has begun this stage. By default, stand too."""
        self._stand(io)

    def _forget(self) -> None:
        """Reset the fields that belong to a single stage."""
        raise NotImplementedError

    # Most messages of an election on a ring are passed on, and nobody has crashed. Handlers that pass on compare the
    # stage and look at `suspected` themselves: two more calls for each message cost a third of the speed.

    def _right(self, io: Io) -> int:
        """The next live process of the ring."""
        neighbour = io.right
        while neighbour in self.suspected:
            neighbour = io.after(neighbour)
        return neighbour

    def _left(self, io: Io) -> int:
        """The previous live process of the ring."""
        if io.left not in self.suspected:
            return io.left
        found, process = io.me, io.right
        while process != io.me:
            found = found if process in self.suspected else process
            process = io.after(process)
        return found
