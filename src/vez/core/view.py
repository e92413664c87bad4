"""View: what a process lets pictures show of it, as data: whether it still competes, and where its edges point."""

from __future__ import annotations

import msgspec


class View(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of the state that a picture of the network shows. Nothing else may depend on it."""

    active: bool | None = None
    """Whether the process still competes, or only passes messages on; None where that means nothing."""

    points_to: tuple[int, ...] = ()
    """Neighbours to whom the edge points, as far as this process knows."""

    pruned: tuple[int, ...] = ()
    """Neighbours whose edge this process no longer uses."""
