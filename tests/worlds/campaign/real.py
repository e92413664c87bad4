"""Runs a case of the campaign: nodes as child processes, and every channel of the topology through the proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

from tests.proxy import Proxy, Route
from tests.worlds.campaign.cases import DELAY_MS, Case, LinkFault
from vez.core import trace as events
from vez.core.process import Process
from vez.core.trace import Trace
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.node.cluster.program import Step
from vez.worlds.node.journal import now_us
from vez.worlds.sim.scenario import Scenario
from vez.worlds.sim.setup import Setup

TIME_SCALE = 100.0
"""One message time of the algorithms, 1 ms, takes 100 ms, so that deadlines are kept on a busy machine too. If one is
missed nevertheless, the trace shows it, and the rows without bounds are used."""
SLOW_MS = 5.0
"""Delay of a slow link, in ms of the algorithm: longer than any bound in the catalogue."""
STUCK_S = 3.0
"""Seconds without events after which a run ends that need not end by itself."""
LIMIT_S = 60.0
"""Seconds after which any run ends."""


Script = Callable[["Behind"], Awaitable[None]]
"""Steps that are done to a cluster. Each begins when the previous one has had its effect."""


class Behind(Cluster):
    """A cluster whose channels lead through a proxy: messages in transit outlive their sender, as on a network."""

    def __init__(
        self,
        setup: Setup,
        folder: Path,
        proxy: Proxy,
        *,
        links: tuple[LinkFault, ...] = (),
        script: Script | None = None,
        hopeful: bool = True,
        scale: float = TIME_SCALE,
    ) -> None:
        super().__init__(setup, folder, time_scale=scale, watch=Behind._look)
        self._links = links
        self._script = script
        self._hopeful = hopeful
        self._program.steps.extend(Step(link.at_ms, "link", link.process, place) for place, link in enumerate(links))
        self._program.steps.extend([Step(0, "script", setup.ids[0])] * (script is not None))
        self._pending = len(self._program.steps)
        self._delay_s = DELAY_MS * scale / 1000
        self._routes: dict[tuple[int, int], Route] = {}
        for one in setup.ids:
            for other in setup.topology.peers(one):
                route = proxy.route(str(folder / f"{other}.sock"), str(folder / self._socket(one, other)))
                route.delay(self._delay_s, "forth")
                self._routes[one, other] = route

    def _socket(self, me: int, peer: int) -> str:
        return f"{peer}.sock" if me == peer else f"{me}-{peer}.sock"

    async def _do(self, step: Step) -> None:
        if step.kind == "link":
            self.link(self._links[step.peer])
        elif step.kind == "script" and self._script is not None:
            await self._script(self)
        else:
            await super()._do(step)
            return
        self._pending -= 1
        self._news = self._loop.time()

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition on the reports of the nodes is true. The nodes are asked for their status
        meanwhile."""
        while not holds():
            for member in self.members.values():
                member.do("status")
            await asyncio.sleep(0.05)  # nodes tell their status only when asked

    def hold(self, process: int, *peers: int) -> None:
        """Let everything from a process to these peers wait, with the connections open."""
        for peer in peers:
            self._routes[process, peer].hold("forth")

    def pass_on(self, process: int, *peers: int) -> None:
        """Deliver the messages that waited, after the time of a message."""
        for peer in peers:
            self._routes[process, peer].heal()
            self._routes[process, peer].delay(self._delay_s, "forth")

    def link(self, fault: LinkFault) -> None:
        """Inject a fault into the network between two processes."""
        forth, back = (self._routes.get(pair) for pair in _both(fault))
        for route, ways in ((forth, ("forth",)), (back, ("back",))) if fault.one_way else ((forth, ()), (back, ())):
            if route is None:
                continue
            if fault.kind == "cut":
                route.cut()
            elif fault.kind == "hold":
                route.hold(*ways)
            elif fault.kind == "slow":
                route.delay(SLOW_MS * self.time_scale / 1000, "forth")
            else:
                route.heal()
                route.delay(self._delay_s, "forth")
        self._note(fault)

    def _note(self, fault: LinkFault) -> None:
        """Record the cut channels; a slow channel is not cut."""
        for place, channel in enumerate(_both(fault)):
            if channel not in self._routes or (fault.one_way and place):
                continue
            if fault.kind == "heal" and channel in self.cuts:
                self.cuts.discard(channel)
                self.faults.append(events.Healed(now_us(), *channel))
            elif fault.kind in ("cut", "hold") and channel not in self.cuts:
                self.cuts.add(channel)
                self.faults.append(events.Cut(now_us(), *channel))

    async def recover(self, process: int, *, memory: bool = True) -> None:
        """Start a node again. The faults of its links remain, and the node does not know of them."""
        cuts, self.cuts = self.cuts, set()
        try:
            await super().recover(process, memory=memory)
        finally:
            self.cuts |= cuts

    @staticmethod
    def _look(running: Cluster) -> None:
        """End a run that is stuck, and need not end by itself."""
        if not isinstance(running, Behind) or not running.has_begun or running._pending:
            return
        silence = running._loop.time() - running._news
        if not running._hopeful and silence > max(STUCK_S, 2 * running._settle_s):
            running.end("time")


def _both(fault: LinkFault) -> tuple[tuple[int, int], tuple[int, int]]:
    return (fault.process, fault.peer), (fault.peer, fault.process)


def run_real(
    scenario: Scenario,
    algorithm: type[Process],
    folder: Path,
    *,
    links: tuple[LinkFault, ...] = (),
    script: Script | None = None,
    hopeful: bool = True,
    limit_s: float = LIMIT_S,
) -> Trace:
    """Run a scenario with real processes behind a proxy. Returns the merged trace. `hopeful`: the run ends by
    itself."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    setup = Setup(scenario, algorithm)

    async def main() -> tuple[Trace, str]:
        with ExitStack() as stack:
            proxy = stack.enter_context(Proxy())
            running = Behind(setup, folder, proxy, links=links, script=script, hopeful=hopeful)
            return await running.run(limit_s), running.failure

    trace, failure = asyncio.run(main())
    assert not failure, failure
    return trace


def run_case(case: Case, algorithm: type[Process], folder: Path, *, hopeful: bool) -> Trace:
    """Run a case of the campaign."""
    scenario = case.scenario()
    return run_real(scenario, algorithm, folder, links=case.plan(scenario.ids or ()).links, hopeful=hopeful)
