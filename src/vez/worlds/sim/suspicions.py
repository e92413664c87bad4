"""Suspicions: calls `on_suspect` and `on_trust`, for every kind of failure detector."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from vez.core import trace as events
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.delays import us
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.setup import Setup


class Suspicions:
    """Reports suspicions to processes, and plans the suspicions of the scenario."""

    def __init__(
        self,
        setup: Setup,
        nodes: Mapping[int, Node],
        *,
        agenda: Agenda,
        recording: Recording,
        dispatcher: Dispatcher,
        availability: Availability,
    ) -> None:
        self._planned = setup.scenario.suspect
        self._nodes = nodes
        self._agenda = agenda
        self._recording = recording
        self._dispatcher = dispatcher
        self._availability = availability
        self._on_suspect = getattr(setup.algorithm, "on_suspect", None)
        self._on_trust = getattr(setup.algorithm, "on_trust", None)
        self._told: defaultdict[int, set[int]] = defaultdict(set)
        """By process: the peers that were reported to it as dead."""

    def plan(self) -> None:
        """Plan the suspicions of the scenario in the agenda."""
        for suspicion in self._planned:
            node, plan = self._nodes[suspicion.process], self._agenda.plan
            plan(us(suspicion.at_ms), partial(self.tell, node, suspicion.peer, dead=True))
            if suspicion.until_ms is not None:
                plan(us(suspicion.until_ms), partial(self.tell, node, suspicion.peer, dead=False))

    def tell(self, node: Node, peer: int, *, dead: bool) -> None:
        """Tell a process that a peer seems dead, or alive again, unless it was told the same before."""
        self._availability.when_awake(node.me, partial(self._tell, node, peer, dead))

    def crashed(self, process: int) -> None:
        """Forget the reports to a process that has crashed: it recovers without them."""
        self._told[process].clear()

    def _tell(self, node: Node, peer: int, dead: bool) -> None:
        told = self._told[node.me]
        if dead == (peer in told):
            return
        (told.add if dead else told.discard)(peer)
        handler = self._on_suspect if dead else self._on_trust
        if handler is not None:
            self._recording.add(events.Suspected if dead else events.Trusted, node.me, peer)
            self._dispatcher.call(node, handler, peer)
