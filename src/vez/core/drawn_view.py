"""View: the part of a process's state that pictures of the network show. Published as `vez.core.View`.

The file is separate because both `process` and `trace` use it, and a trace needs nothing else of a process.
"""

from __future__ import annotations

import msgspec


class View(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of the state that a picture of the network shows. Nothing else may depend on it."""

    active: bool | None = None
    """True if the process still competes, False if it only passes messages on; None if not applicable."""

    points_to: tuple[int, ...] = ()
    """Neighbours to which an edge points, as far as this process knows."""

    pruned: tuple[int, ...] = ()
    """Neighbours whose edges this process no longer uses."""

    waits_for: tuple[int, ...] = ()
    """The processes without which this one cannot go on: they hold what it needs, or owe it an answer."""
