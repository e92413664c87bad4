"""Coverage: the handlers and premises that a search exercised, and the fairness that its verdicts assume.

A property whose premise never occurred holds only vacuously. A verdict that something happens eventually depends on
fairness.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from vez.core.assumptions import Property
from vez.core.process import Mutex, Process, handlers_of
from vez.judge.words import Sentence, said
from vez.worlds.check.model.local import IDLE, INSIDE
from vez.worlds.check.model.semantics import Model

_NEEDS_A_REQUEST = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM)
_NEEDS_AN_ENTRY = (
    Property.EXCLUSION,
    Property.FENCED_EXCLUSION,
    Property.BOUNDED_WAITING,
    Property.REQUEST_ORDER,
)
_NEEDS_A_LEADER = (Property.UNIQUENESS, Property.STABILITY, Property.VALIDITY)

_FAIR = ("deliver", "fire", "leave", "resume", "elect", "suspect", "trust", "advance")
"""The kinds of step that happen eventually if they stay possible; `vez.judge.words` describes each."""


def assumed_to_happen(kinds: Collection[str], *, drift: bool) -> tuple[Sentence, ...]:
    """The sentences that name the fair kinds of step among these."""
    fair = [kind for kind in _FAIR if kind in kinds]
    return tuple(said(f"fair_{kind}_with_drift" if drift and kind == "fire" else f"fair_{kind}") for kind in fair)


def never_ran(model: Model) -> tuple[str, ...]:
    """The handlers of messages, timers, suspicions, recoveries and withdrawals that ran in no explored state."""
    algorithm: Any = model.configuration.algorithm
    known = {*handlers_of(algorithm).names, *(name for name in ("on_suspect", "on_trust") if hasattr(algorithm, name))}
    if algorithm.on_recover is not Process.on_recover:
        known.add("on_recover")
    if issubclass(algorithm, Mutex) and algorithm.can_retract():
        known.add("on_withdraw")
    return tuple(sorted(known - model.handlers_run()))


def _starts(model: Model) -> bool:
    """True if the algorithm defines `on_start`."""
    return model.configuration.algorithm.on_start is not Process.on_start


def missing_premise(model: Model, name: Property) -> Sentence | None:
    """The premise of the property that never occurred, so that the property holds vacuously; None if it occurred."""
    if name is Property.NO_EXCEPTIONS and not model.handlers_run() and not _starts(model):
        return said("no_handler_ran")
    if name in _NEEDS_A_REQUEST and all(local.phase == IDLE for local in model.locals):
        return said("nobody_wanted_in")
    if name in _NEEDS_AN_ENTRY and not any(local.phase == INSIDE for local in model.locals):
        return said("nobody_ever_got_in")
    if name is Property.FENCED_EXCLUSION and all(local.token is None for local in model.locals):
        return said("no_tokens")
    if name in _NEEDS_A_LEADER and not any(local.view or local.led for local in model.locals):
        return said("nobody_named_a_leader")
    return None
