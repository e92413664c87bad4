"""Detection: the failure detectors of `vez.detectors` with real heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vez.detectors import MONITORS, Monitor, Settings

GRACE_MS = 10_000.0
"""Time after a first start in which a peer that was never heard is not suspected: nodes are not started all at once."""


class Detection:
    """A monitor for each peer. `tell(peer, dead)` passes on a suspicion, or that it is taken back."""

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

    def heard(self, peer: int) -> None:
        """A heartbeat arrived."""
        if peer not in self._heard:  # the first one ends the grace
            self._heard.add(peer)
            self._monitors[peer] = self._kind(self._settings, self._now())
        else:
            self._monitors[peer].heard(self._now())
        self._watch(peer)
        if peer in self.suspected:
            self.suspected.discard(peer)
            self._tell(peer, False)

    def left(self, peer: int) -> None:
        """The peer said that it ends: it is suspected at once, until it is heard again."""
        self._looks[peer].cancel()
        if peer not in self.suspected:
            self.suspected.add(peer)
            self._tell(peer, True)

    def stop(self) -> None:
        """Send no more heartbeats and suspect nobody."""
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
