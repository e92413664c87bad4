"""Message: the base class of the messages between processes.

A message is a frozen, typed, hashable value. The same definition is simulated, hashed by the checker and
encoded on the wire, so its fields hold immutable values only. This is checked when the class is defined.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, dataclass_transform

import msgspec

from vez.core import class_rules

STAGE = "stage"
"""The message field that names the dead processes that an election leaves out; empty in the first election."""


@dataclass_transform(frozen_default=True)
class Message(msgspec.Struct, frozen=True, gc=False):
    """Base of all messages. The class name is the message's kind, and `on_<kind>` its handler."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        class_rules.check_fields(cls, "message")

    def in_words(self) -> str:
        """The text that traces and pictures show instead of the fields; empty to show the fields."""
        return ""


@cache
def handler_name(kind: type[Message]) -> str:
    """The name of the handler of a kind of message: `VoteForMe` is handled by `on_vote_for_me`."""
    return "on_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def fields_of(message: Message) -> dict[str, Any]:
    """The message's fields as plain values, or its text from `in_words`, for traces. An empty `stage` is left out."""
    if words := message.in_words():
        return {"words": words}
    fields = {
        name: msgspec.to_builtins(getattr(message, name), order="deterministic") for name in message.__struct_fields__
    }
    if STAGE in fields and not fields[STAGE]:
        del fields[STAGE]
    return fields


def plain_values(fields: dict[str, Any]) -> dict[str, Any]:
    """Values of fields in the form of a trace: numbers, strings, lists and dictionaries; sets in a fixed order."""
    return {name: _lists(msgspec.to_builtins(value, order="deterministic")) for name, value in fields.items()}


def _lists(value: Any) -> Any:
    """A plain value in the form that JSON would return: tuples become lists."""
    if isinstance(value, tuple | list):
        return [_lists(part) for part in value]
    return {key: _lists(part) for key, part in value.items()} if isinstance(value, dict) else value
