"""Traits: the features and limits of an engine on an algorithm, derived from the declarations of its class."""

from __future__ import annotations

from collections.abc import Iterator

from vez.core.assumptions import Assumption, Property
from vez.core.overrides import longest_delay_ms, longest_stay_ms
from vez.core.process import DURABLE, Mutex, Process, marked
from vez.locks.engines.base import Traits
from vez.locks.peers.eligible import can_resign, has_terms, has_tokens, holds_one_election
from vez.locks.peers.settings import Settings


def traits_of(settings: Settings) -> Traits:
    """The traits of one group."""
    kind = settings.kind
    is_lock = issubclass(kind, Mutex)
    stay_ms = _longest_stay_ms(settings)
    return Traits(
        frees="lease" if stay_ms is not None else "members" if _noticed(kind) else None,
        lease_seconds=None if stay_ms is None else stay_ms * settings.time_scale / 1000,
        chosen_leases=False,
        reaches="network",
        token="grant" if has_tokens(kind) or has_terms(kind) else None,
        cycles="process",
        queue_visible=False,
        order=None,
        transfer=False,
        breaks=False,
        shared=False,
        semaphores=False,
        elections=not is_lock,
        locks=is_lock,
        weights=False,
        stays=None,
        notes=tuple(_notes(settings)),
    )


_PROGRESS = {Property.DEADLOCK_FREEDOM, Property.TERMINATION}
"""Progress properties. An algorithm that promises one of these without reliable channels handles lost messages
itself."""


def _noticed(kind: type[Process]) -> bool:
    """True if the other members continue when the holder or the leader dies."""
    if Assumption.NO_CRASHES in kind.assumes:
        return False
    return not issubclass(kind, Mutex) or hasattr(kind, "on_suspect")


def _notes(settings: Settings) -> Iterator[str]:
    """The faults that the algorithm does not tolerate, one sentence each."""
    kind, name = settings.kind, settings.algorithm
    assumes = kind.assumes
    if Assumption.RELIABLE not in assumes and not _PROGRESS & set(kind.guarantees):
        yield (
            f"{name} does not assume reliable channels: a message to a member that is not connected is lost, "
            "not sent again."
        )
    if Assumption.NO_CRASHES in assumes:
        yield f"{name} assumes that no process stops: if a member ends, requests of the others may wait for ever."
    if Assumption.HUB_STAYS in assumes:
        yield f"{name} assumes that member {settings.setup.topology.hub}, the coordinator, does not stop."
    if Assumption.NO_RECOVERY in assumes:
        yield f"{name} assumes that a member that stopped does not come back: it is refused."
    if Assumption.KNOWN_BOUNDS in assumes:
        yield f"{name} trusts its timers: {_bounds(settings)}"
    if Assumption.PERFECT_DETECTOR in assumes:
        after_s = settings.detector_settings.timeout_ms / 1000
        yield f"{name} takes a member that is silent for {after_s:g} s for dead: if it is only slow, promises break."
    if marked(kind, DURABLE) and settings.state is None:
        yield "Without state= a member forgets what must survive a crash: one that starts anew is refused."
    yield from _lock_notes(settings) if issubclass(kind, Mutex) else _election_notes(settings)


def _lock_notes(settings: Settings) -> Iterator[str]:
    kind, name = settings.kind, settings.algorithm
    stay_ms = _longest_stay_ms(settings)
    if stay_ms is not None:
        longest_s = stay_ms * settings.time_scale / 1000
        yield f"A lock that is held for more than {longest_s:g} s is lost, and its holder is told."
    for promise in (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM):
        if promise not in kind.guarantees:
            yield f"{name} does not promise {promise}: {promise.meaning}."
    if not has_tokens(kind):
        yield f"{name} hands out no tokens: a holder that was paused and goes on cannot be fenced off."


def _election_notes(settings: Settings) -> Iterator[str]:
    kind, name = settings.kind, settings.algorithm
    yield "All members stand: the algorithm may choose one whose program does not ask to lead."
    if holds_one_election(kind):
        yield f"{name} holds one election for each name: nobody follows a leader who is gone."
    elif not can_resign(kind):
        yield "A leader who releases stays the choice of the algorithm until its program leaves the group."
    if can_resign(kind) and not has_terms(kind) and Assumption.KNOWN_BOUNDS not in kind.assumes:
        yield f"{name} promises one leader for each term only: several members may lead at once, each its own group."
    if not has_terms(kind):
        yield f"{name} gives no terms that only rise: a leader that was paused and goes on cannot be fenced off."


def _bounds(settings: Settings) -> str:
    longest_ms = longest_delay_ms(settings.setup.process(settings.me))
    if longest_ms is None:
        return "a member that answers too late is taken for dead."
    return f"a message that takes more than {longest_ms * settings.time_scale:g} ms can break its promises."


def _longest_stay_ms(settings: Settings) -> float | None:
    return longest_stay_ms(settings.setup.process(settings.me))
