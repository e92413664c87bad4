"""Assumptions of an algorithm about the world, and the guarantees that it gives in return.

Both are declared on the class. So a world can turn one assumption off and show the shortest run in which a guarantee
breaks.
"""

from __future__ import annotations

from enum import StrEnum


class Assumption(StrEnum):
    """A promise of the world to the algorithm."""

    RELIABLE = "reliable"
    FIFO = "fifo"
    NO_CRASHES = "no_crashes"
    HUB_STAYS = "hub_stays"
    KNOWN_BOUNDS = "known_bounds"
    BOUNDED_STAY = "bounded_stay"
    UNIQUE_IDS = "unique_ids"
    PERFECT_DETECTOR = "perfect_detector"
    NO_RECOVERY = "no_recovery"
    STABLE_STORAGE = "stable_storage"

    @property
    def meaning(self) -> str:
        """One sentence for the algorithm's page."""
        return _MEANING[self]


class Property(StrEnum):
    """A guarantee of the algorithm to its users. The names are the same in every output."""

    EXCLUSION = "exclusion"
    DEADLOCK_FREEDOM = "deadlock_freedom"
    STARVATION_FREEDOM = "starvation_freedom"
    BOUNDED_WAITING = "bounded_waiting"
    REQUEST_ORDER = "request_order"
    FENCED_EXCLUSION = "fenced_exclusion"
    UNIQUENESS = "uniqueness"
    TERMINATION = "termination"
    AGREEMENT = "agreement"
    STABILITY = "stability"
    VALIDITY = "validity"
    NO_EXCEPTIONS = "no_exceptions"

    @property
    def meaning(self) -> str:
        """One sentence for tables and pages."""
        return _PROPERTY_MEANING[self]


_MEANING = {
    Assumption.RELIABLE: "every message sent to a live process arrives, once",
    Assumption.FIFO: "messages from one process to another arrive in the order of sending",
    Assumption.NO_CRASHES: "no process stops",
    Assumption.HUB_STAYS: "the coordinator does not stop",
    Assumption.KNOWN_BOUNDS: "delays and the speed of processes have known bounds, so a timeout is proof",
    Assumption.BOUNDED_STAY: "nobody stays inside longer than the lease",
    Assumption.UNIQUE_IDS: "no two processes share an identifier",
    Assumption.PERFECT_DETECTOR: "crashes are always noticed, and only crashes are",
    Assumption.NO_RECOVERY: "a process that stopped does not come back",
    Assumption.STABLE_STORAGE: "a process that comes back has its durable fields",
}

_PROPERTY_MEANING = {
    Property.EXCLUSION: "never two inside at once",
    Property.DEADLOCK_FREEDOM: "when some want in, somebody gets in",
    Property.STARVATION_FREEDOM: "everybody who wants in gets in",
    Property.BOUNDED_WAITING: "how often later requests overtake one that is placed is bounded",
    Property.REQUEST_ORDER: "entries follow the happened-before order of the requests",
    Property.FENCED_EXCLUSION: "a resource that checks tokens never accepts a stale write",
    Property.UNIQUENESS: "never two leaders (per term, where there are terms)",
    Property.TERMINATION: "once an election has started, somebody becomes leader, and again when the leader has died",
    Property.AGREEMENT: "once an election has started, all live processes name the same live leader in the end",
    Property.STABILITY: "no new leader unless the old one failed",
    Property.VALIDITY: "the leader is a live process (and the best one, where promised)",
    Property.NO_EXCEPTIONS: "no handler raises an exception; every algorithm promises it",
}
