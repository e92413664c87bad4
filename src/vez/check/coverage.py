"""Coverage: what a search exercised, and what its verdicts rest on.

A property holds for nothing where its premise never occurred. What must happen some day rests on fairness.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from vez.check.model.local import IDLE, INSIDE
from vez.check.model.semantics import Model
from vez.core.assumptions import Property
from vez.core.process import Mutex, Process, handlers_of
from vez.words import Sentence, said

_NEEDS_A_REQUEST = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM)
_NEEDS_AN_ENTRY = (
    Property.EXCLUSION,
    Property.FENCED_EXCLUSION,
    Property.BOUNDED_WAITING,
    Property.REQUEST_ORDER,
)
_NEEDS_A_LEADER = (Property.UNIQUENESS, Property.STABILITY, Property.VALIDITY)

_FAIR = ("deliver", "fire", "leave", "resume", "elect", "suspect", "trust", "advance")
"""The kinds of step that happen in the end, if they are possible all the while; `vez.words` says what each is."""


def assumed_to_happen(kinds: Collection[str], *, drift: bool) -> tuple[Sentence, ...]:
    """In words: which of these kinds of step are fair."""
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
    """True if processes do something when they start."""
    return model.configuration.algorithm.on_start is not Process.on_start


def missing_premise(model: Model, name: Property) -> Sentence | None:
    """What never happened, so that the property says nothing; None if it says something."""
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
