"""View: what a process lets pictures show of it, as data: whether it still competes, and where its edges point."""

from __future__ import annotations

import msgspec


class View(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of the state that a picture of the network shows. Nothing else may depend on it."""

    active: bool | None = None
    """True if the process still competes, False if it only passes messages on; None if not applicable."""

    points_to: tuple[int, ...] = ()
    """Neighbours to whom the edge points, as far as this process knows."""

    pruned: tuple[int, ...] = ()
    """Neighbours whose edge this process no longer uses."""
