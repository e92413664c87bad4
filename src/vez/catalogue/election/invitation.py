"""Groups with a leader each, which invite one another until there is one group.

Idea:        Every process begins as the leader of its own group. From time to time a leader looks for other leaders. If
             it finds some, it waits (a leader with a smaller identifier waits longer) and then invites them and all
             members to a new group. A member that cannot reach its leader founds its own group again. So each side of a
             partition gets one leader, and the sides merge when it heals.
Source:      Garcia-Molina, IEEE TC C-31(1), 1982, section V (the invitation algorithm).
Assumptions: unique identifiers. Safety needs no bound on delays; to merge, the waits must be longer than a round trip
             for a while. The counter is durable, so that no group number is used twice; without it, one founder could
             use a number for two of its groups, but two founders never share one.
Guarantees:  one leader per group (the term is the number of the group), whatever happens to messages and processes; all
             processes that can reach one another agree, some time after the last fault.
Messages:    Every `check_ms`: N-1 questions from each leader and the answers, two messages for each member. A merge of
             k processes costs up to 3(k-1), and one more for each group that is invited through its leader.
Deviations:  Members are not asked for their tasks; a group is a leader and its members.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Durable, Io, Message, Parameter, ProcessId, Property, named

NORMAL, INVITING, JOINING = "", "inviting", "joining"


class AreYouLeader(Message):
    """Leader to everybody: is there another group?"""


class Leader(Message):
    """Answer: I lead a group."""


class Invitation(Message):
    """Join this group; sent by its leader, and passed on by the leaders of the invited groups."""

    leader: ProcessId
    group: int


class Acceptance(Message):
    """I join."""

    group: int


class Ready(Message):
    """Leader to those who joined: the group is founded."""

    group: int


class AreYouThere(Message):
    """Member to leader: is this group still alive?"""

    group: int


class Here(Message):
    """Answer to `AreYouThere`: `yes` if the group is still alive."""

    group: int
    yes: bool


class Invitations(core.Election):
    """Partitions with a leader each, merged by invitation."""

    name = "invitation"
    assumes = (Assumption.UNIQUE_IDS,)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION)

    check_ms: Parameter[float] = 20.0  # between two searches for other groups
    answer_ms: Parameter[float] = 4.0  # usually longer than a question and its answer take
    step_ms: Parameter[float] = 8.0  # a leader waits this much longer than the next larger one before it invites
    counter: Durable[int] = 0  # groups that this process has founded
    group: int = 0  # the number of our group; unique, because it encodes the founder's place
    leader: int | None = None
    members: frozenset[int] = frozenset()  # of our group, without us; empty unless we lead it
    state: str = NORMAL
    joining: int = 0  # the group we have accepted an invitation to; only while JOINING
    others: frozenset[int] = frozenset()  # leaders found in the last search

    def on_start(self, io: Io) -> None:
        self._be_alone(io)

    def on_elect(self, io: Io) -> None:
        if self.state == NORMAL:
            self.on_timer_check(io)

    def on_timer_check(self, io: Io) -> None:
        io.set_timer("check", self.check_ms)
        if self.state != NORMAL or self.leader is None:
            return
        if self.leader == io.me:
            self.others = frozenset()
            io.broadcast(AreYouLeader())
            io.set_timer("gather", self.answer_ms)
        else:
            io.send(self.leader, AreYouThere(self.group))
            io.set_timer("there", self.answer_ms)

    # A leader looks for others, and invites them.

    def on_are_you_leader(self, message: AreYouLeader, sender: int, io: Io) -> None:
        if self.state == NORMAL and self.leader == io.me:
            io.send(sender, Leader())

    def on_leader(self, message: Leader, sender: int, io: Io) -> None:
        self.others |= {sender}

    def on_timer_gather(self, io: Io) -> None:
        if self.others:
            larger = sum(peer > io.me for peer in self.others)
            io.set_timer("invite", larger * self.step_ms)

    def on_timer_invite(self, io: Io) -> None:
        if self.state != NORMAL or self.leader != io.me:
            return
        invited = sorted(self.members | self.others)
        self._found(io)
        self.state = INVITING
        for peer in invited:
            io.send(peer, Invitation(io.me, self.group))
        io.set_timer("accept", 2 * self.answer_ms)

    def on_invitation(self, message: Invitation, sender: int, io: Io) -> None:
        if self.state != NORMAL or message.leader == io.me:
            return
        if self.leader == io.me:
            for member in sorted(self.members):
                io.send(member, message)
        self.state = JOINING
        self.joining = message.group
        io.send(message.leader, Acceptance(message.group))
        io.set_timer("ready", 3 * self.answer_ms)

    def on_acceptance(self, message: Acceptance, sender: int, io: Io) -> None:
        if self.state == INVITING and message.group == self.group:
            self.members |= {sender}

    def on_timer_accept(self, io: Io) -> None:
        self.state = NORMAL
        io.elected(io.me, self.group)
        for member in sorted(self.members):
            io.send(member, Ready(self.group))

    def on_ready(self, message: Ready, sender: int, io: Io) -> None:
        if self.state == JOINING and message.group == self.joining:
            self.state = NORMAL
            self.group, self.leader, self.members = message.group, sender, frozenset()
            io.cancel_timer("ready")
            io.elected(sender, self.group)

    def on_timer_ready(self, io: Io) -> None:
        self._be_alone(io)

    # A member checks that its leader is there.

    def on_are_you_there(self, message: AreYouThere, sender: int, io: Io) -> None:
        leads = self.leader == io.me and self.group == message.group and sender in self.members
        io.send(sender, Here(message.group, leads))

    def on_here(self, message: Here, sender: int, io: Io) -> None:
        if message.group == self.group and self.leader != io.me:
            io.cancel_timer("there")
            if not message.yes and self.state == NORMAL:
                self._be_alone(io)

    def on_timer_there(self, io: Io) -> None:
        if self.state == NORMAL and self.leader != io.me:
            self._be_alone(io)

    def _be_alone(self, io: Io) -> None:
        self._found(io)
        self.state = NORMAL
        io.elected(io.me, self.group)
        io.set_timer("check", self.check_ms)

    def _found(self, io: Io) -> None:
        self.counter += 1
        self.group = self.counter * (len(io.peers) + 1) + sum(peer < io.me for peer in io.peers)
        self.leader, self.members, self.others = io.me, frozenset(), frozenset()

    def status(self) -> str:
        follows = "" if self.leader is None else f"leader is {named(self.leader)}"
        return f"{self.state or follows}, group {self.group}"
