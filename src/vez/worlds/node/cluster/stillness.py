"""Stillness: finds out that nothing is under way in a cluster, so that nothing can happen any more. No I/O.

The nodes are asked for their status in rounds; a round begins when every answer of the round before is known. If all
nodes are idle in two successive rounds and none has run a handler in between, then all of them were idle at the moment
between the two rounds. One round alone proves nothing: a message can pass from a node that has not been asked yet to
one that has answered. (This is the idea of Mattern's four counters; here the acknowledgements of the links say whether
messages are in transit, because counts are lost with a node that is killed.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Channel = tuple[int, int]
Verdict = Literal["open", "moving", "quiet"]


class Stillness:
    """The verdict of the rounds so far: `moving` if something was under way in the last round, `quiet` if nothing can
    happen any more, `open` before that is known."""

    def __init__(self) -> None:
        self.verdict: Verdict = "open"
        self._before: dict[int, tuple[str, int]] | None = None  # incarnation and steps of each node, if all were idle

    def look(self, statuses: Mapping[int, Mapping[str, Any]], cuts: set[Channel], *, planned: bool) -> None:
        """Note the answers of a round: the status of every node that lives. `planned`: a request, a command or a fault
        is still to come, a node is paused, or the network may cause a false suspicion."""
        if planned or any(under_way(me, statuses, cuts) for me in statuses):
            self.verdict, self._before = "moving", None
            return
        found = {me: (status["incarnation"], status["steps"]) for me, status in statuses.items()}
        self.verdict, self._before = "quiet" if found == self._before else "open", found


def under_way(me: int, statuses: Mapping[int, Mapping[str, Any]], cuts: set[Channel]) -> str:
    """What is under way at a node, in words; empty if nothing is.

    Messages to a dead node are lost. Those of a dead node may still arrive as long as a connection of it is open.
    """
    status = statuses[me]
    if not status["begun"] or status["ends"]:
        return "it begins or ends"
    if status["timers"] or status["state"] == "inside":
        return "a timer runs, or a stay has to end"
    if status["arrived"]:
        return "messages wait at it for their delivery"
    if any(int(peer) in statuses for peer in status["unacknowledged"]):  # keys in JSON are strings
        return "a peer has not handled all of its messages"
    alive = {peer: one["incarnation"] for peer, one in statuses.items()}
    if any(alive.get(int(peer)) != incarnation for peer, incarnation in status["sources"].items()):
        return "messages of a dead node may still arrive"
    return _suspicion(me, status, set(alive), cuts)


def _suspicion(me: int, status: Mapping[str, Any], alive: set[int], cuts: set[Channel]) -> str:
    """A suspicion that the failure detector of a node owes, or will take back, if the heartbeats of a live peer come in
    time. Where they may be lost or late, the caller of `look` says so (`planned`)."""
    silent = {peer for peer in status["watched"] if peer not in alive or (peer, me) in cuts}
    if silent - set(status["suspected"]):
        return "a silent peer is not suspected yet"
    return "a suspicion will be taken back" if set(status["doubted"]) - silent else ""
