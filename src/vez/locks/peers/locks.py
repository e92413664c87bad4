"""Locks: the instance of a mutual exclusion for one name."""

from __future__ import annotations

from vez.locks.peers.instance import Instance


class LockInstance(Instance):
    """A lock. The participant requests the lock of the group while a request of this program waits."""

    def advance(self) -> None:
        application = self.application
        if self.current is not None:
            return
        if application.state == "inside":
            if self.queue:
                application.withdrawn = False
                self._grant(application.token, self._stay_ms())
            else:  # withdrawn, but granted all the same
                self._leave()
        elif application.state == "waiting":
            if self.queue:
                application.withdrawn = False  # the request that could not be withdrawn serves this one
            elif not application.withdrawn:
                application.withdraw()
                self._run("on_withdraw")
        elif self.queue and self._world.gathered:
            application.want(None)
            self._run("on_want")

    def _stay_ms(self) -> float | None:
        longest: float | None = self._pump.process.longest_stay_ms()  # type: ignore[attr-defined]
        return longest

    def _leave(self) -> None:
        self._clear()
        self.application.leave()
        self._run("on_done")
        if self.queue:
            self._loop.call_soon(self.advance)
