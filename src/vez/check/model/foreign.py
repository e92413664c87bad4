"""Foreign: names the handler that left or sent a value of a kind that may not be there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vez.check.model.causality import bare
from vez.core.identity import ForeignValue, field_of
from vez.errors import ProtocolBug

if TYPE_CHECKING:
    from vez.check.model.local import Local
    from vez.check.model.semantics import Model


def foreign_field(model: Model, local: Local, error: ForeignValue) -> ProtocolBug:
    """The refusal of a local state."""
    field = field_of(dict(zip(model.configuration.algorithm.__struct_fields__, local.fields, strict=True)))
    return error.refusal(f"{model.origin(lambda done: done.local is local)} left {field or 'a token'} at")


def foreign_message(model: Model, message: Any, error: ForeignValue) -> ProtocolBug:
    """The refusal of a message."""
    sent = bare(message)
    who = model.origin(lambda done: any(one is message for _, one in done.sends))
    field = field_of({name: getattr(sent, name) for name in sent.__struct_fields__})
    return error.refusal(f"{who} sent {type(sent).__name__} with {field}")
