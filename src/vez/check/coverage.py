"""Coverage: what a search exercised. A property holds for nothing where its premise never occurred."""

from __future__ import annotations

from vez.check.model.local import IDLE, INSIDE
from vez.check.model.semantics import Model
from vez.core.assumptions import Property
from vez.core.process import handlers_of

_NEEDS_A_REQUEST = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM)
_NEEDS_AN_ENTRY = (
    Property.EXCLUSION,
    Property.FENCED_EXCLUSION,
    Property.BOUNDED_WAITING,
    Property.REQUEST_ORDER,
)
_NEEDS_A_LEADER = (Property.UNIQUENESS, Property.STABILITY, Property.VALIDITY)


def never_ran(model: Model) -> tuple[str, ...]:
    """The handlers of messages, timers and suspicions that ran in no explored state."""
    algorithm = model.configuration.algorithm
    known = {*handlers_of(algorithm).names, *(name for name in ("on_suspect", "on_trust") if hasattr(algorithm, name))}
    return tuple(sorted(known - model.handlers_run()))


def missing_premise(model: Model, name: Property) -> str:
    """What never happened, so that the property says nothing; empty if it says something."""
    if name in _NEEDS_A_REQUEST and all(local.phase == IDLE for local in model.locals):
        return "nobody ever wanted in"
    if name in _NEEDS_AN_ENTRY and not any(local.phase == INSIDE for local in model.locals):
        return "nobody ever got in"
    if name in _NEEDS_A_LEADER and not any(local.view for local in model.locals):
        return "nobody ever named a leader"
    return ""
