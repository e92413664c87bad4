"""Foreign values: errors that name the handler that stored or sent a value of a type that is not allowed.

Only `semantics` uses them. They are in a file of their own because that one is long already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vez.core.identity import ForeignValue, field_of
from vez.errors import ProtocolBug
from vez.worlds.check.model.causality import bare

if TYPE_CHECKING:
    from vez.worlds.check.model.local import Local
    from vez.worlds.check.model.semantics import Model


def foreign_field(model: Model, local: Local, error: ForeignValue) -> ProtocolBug:
    """The error for a local state with such a value."""
    field = field_of(dict(zip(model.configuration.algorithm.__struct_fields__, local.fields, strict=True)))
    return error.refusal(f"{model.origin(lambda done: done.local is local)} left {field or 'a token'} at")


def foreign_message(model: Model, message: Any, error: ForeignValue) -> ProtocolBug:
    """The error for a message with such a value."""
    sent = bare(message)
    who = model.origin(lambda done: any(one is message for _, one in done.sends))
    field = field_of({name: getattr(sent, name) for name in sent.__struct_fields__})
    return error.refusal(f"{who} sent {type(sent).__name__} with {field}")
