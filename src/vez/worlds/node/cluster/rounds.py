"""Rounds: the nodes of a cluster are asked for their status again and again; each round is judged (`stillness`)."""

from __future__ import annotations

from collections.abc import Mapping

from vez.worlds.node.cluster.member import Member
from vez.worlds.node.cluster.stillness import Channel, Stillness, Verdict

LEAST_S = 0.1
"""Time after which the nodes are asked again."""
OF_A_NODE_S = 0.001
"""Pause between two questions for each node of the cluster, if that is longer than `LEAST_S`: the nodes of a large
cluster must not be busy with answers."""


class Rounds:
    """The questions to the members, and what the answers show."""

    def __init__(self, members: Mapping[int, Member]) -> None:
        self._members = members
        self._pause_s = max(LEAST_S, OF_A_NODE_S * len(members))
        self._asked_at = 0.0
        self._stillness = Stillness()
        self.resident: dict[int, int] = {}
        """The largest observed memory of each node in bytes; empty if the system does not report it."""

    @property
    def verdict(self) -> Verdict:
        """Whether something is under way."""
        return self._stillness.verdict

    def ask(self, now: float, cuts: set[Channel], *, busy: bool) -> None:
        """If it is time: judge the round that is complete, and ask every node that has answered. `busy`: the cluster
        has a command or a fault still to give."""
        if now - self._asked_at < self._pause_s:
            return
        self._asked_at = now
        alive = [member for member in self._members.values() if member.is_alive]
        if all(member.has_answered and member.status for member in alive):
            paused = any(member.is_stopped for member in alive)
            statuses = {member.me: member.status for member in alive}
            self._stillness.look(statuses, cuts, planned=busy or paused)
        for member in alive:
            if member.has_answered:
                member.do("status")
            if size := member.resident_bytes:
                self.resident[member.me] = max(size, self.resident.get(member.me, 0))
