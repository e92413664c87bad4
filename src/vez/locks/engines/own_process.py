"""Base classes of engines that do not publish their waits for other processes.

An engine on a server or in a group shares its names with other processes, but a process cannot read the waits of
holders in another process. So the search for cycles of waits (`cycles.py`) sees only the holders of this process, and
need not exclude searches of other processes. Engines of one machine override these methods.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from vez.locks.engines.owners import Claim
from vez.locks.engines.wording import client_closed

if TYPE_CHECKING:
    from vez.locks.engines.cycles import Holders, Target


class SearchedEngine:
    """Refuses requests after it was closed, and publishes no waits for other processes."""

    url: str
    closed: bool

    def refuse_if_closed(self) -> None:
        """Raise `EngineUnavailable` if the client was closed."""
        if self.closed:
            raise client_closed(self.url)

    def searching(self) -> AbstractContextManager[object]:
        """Exclude nothing: other processes do not search this engine."""
        return nullcontext()

    def note(self, holding: Claim, target: Target | None) -> None:
        """Do nothing: other processes cannot read waits of this engine."""


class OwnProcess(SearchedEngine):
    """An engine whose search for cycles sees only the holders of its own process."""

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        """The holders of a name in this process. The holders in other processes are not known."""
        from vez.locks.engines.cycles import Holder, Holders

        limit = here[0].request.limit if here and target.kind == "semaphore" else None
        found = [Holder(f"process {os.getpid()}", claim.waits, id(claim) in mine) for claim in here]
        return Holders(target, found, limit)
