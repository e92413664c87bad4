"""Detection: the failure detectors of `vez.core.detectors` with real heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from vez.core.detectors import MONITORS, Monitor, Settings

GRACE_MS = 10_000.0
"""Time after a first start in which a peer without a heartbeat is not suspected: nodes do not start all at once."""


class Detection:
    """A monitor for each peer. `tell(peer, dead)` reports a suspicion (True), or its end (False)."""

    def __init__(
        self,
        kind: str,
        settings: Settings,
        peers: tuple[int, ...],
        *,
        beat: Callable[[int], None],
        tell: Callable[[int, bool], None],
        grace_ms: float = GRACE_MS,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._settings = settings
        self._beat = beat
        self._tell = tell
        start = self._now() + grace_ms
        self._monitors: dict[int, Monitor] = {peer: MONITORS[kind](settings, start) for peer in peers}
        self._kind = MONITORS[kind]
        self._heard: set[int] = set()
        self._looks: dict[int, asyncio.TimerHandle] = {}
        self._task = self._loop.create_task(self._beats())
        self.suspected: set[int] = set()
        for peer in peers:
            self._watch(peer)

    @property
    def peers(self) -> Iterable[int]:
        """The peers that are watched."""
        return self._monitors

    def heard(self, peer: int) -> None:
        """Note that a heartbeat arrived."""
        if peer not in self._heard:  # the first heartbeat ends the grace period
            self._heard.add(peer)
            self._monitors[peer] = self._kind(self._settings, self._now())
        else:
            self._monitors[peer].heard(self._now())
        self._watch(peer)
        if peer in self.suspected:
            self.suspected.discard(peer)
            self._tell(peer, False)

    def left(self, peer: int) -> None:
        """Note that the peer announced its end. It is suspected at once, until its next heartbeat."""
        self._looks[peer].cancel()
        if peer not in self.suspected:
            self.suspected.add(peer)
            self._tell(peer, True)

    def stop(self) -> None:
        """Stop sending heartbeats and suspecting peers."""
        self._task.cancel()
        for look in self._looks.values():
            look.cancel()

    def _now(self) -> float:
        return self._loop.time() * 1000

    def _watch(self, peer: int) -> None:
        if peer in self._looks:
            self._looks[peer].cancel()
        wait_ms = self._monitors[peer].deadline_ms - self._now()
        self._looks[peer] = self._loop.call_later(max(0.0, wait_ms / 1000), self._look, peer)

    def _look(self, peer: int) -> None:
        if self._now() < self._monitors[peer].deadline_ms:
            self._watch(peer)
        elif peer not in self.suspected:
            self.suspected.add(peer)
            self._tell(peer, True)

    async def _beats(self) -> None:
        while True:
            for peer in self._monitors:
                self._beat(peer)
            await asyncio.sleep(self._settings.interval_ms / 1000)
