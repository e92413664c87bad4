"""Class rules: checks that fail when a class is defined, not when a run goes wrong an hour later.

A Process and a Message hold immutable values only. So a snapshot is a tuple of fields, a state can be
hashed, and two runs cannot affect each other through a shared list.
"""

from __future__ import annotations

import types
import typing
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union
from weakref import WeakSet

import msgspec

from vez.errors import BadDeclaration, MutableField, article

SCALARS = (int, str, bool, float, bytes, type(None))
"""The plain immutable types. bool is an int; both are named for the reader."""

_CHECKED: WeakSet[type] = WeakSet()
_INSTEAD = {
    list: "tuple[T, ...]",
    dict: "tuple[tuple[K, V], ...] or frozenset of pairs",
    set: "frozenset[T]",
    bytearray: "bytes",
}


def check_fields(cls: type, what: str) -> bool:
    """Raise `MutableField` if a field of the class may hold a value that changes in place.

    Returns False if a name in an annotation cannot be resolved yet (for example a class inside a function). The
    worlds then check again before the first run.
    """
    if cls in _CHECKED:
        return True
    _check_attributes(cls, what)
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError:
        return False
    for field, hint in hints.items():
        if typing.get_origin(hint) is ClassVar or field.startswith("__"):
            continue
        offender = mutable_part(hint)
        if offender is not None:
            name = getattr(offender, "__name__", str(offender))
            raise MutableField(
                f"{what} {cls.__name__}: field {field!r} may hold {article(name)}, which can change in place; "
                f"expected int, str, bool, float, bytes, tuple, frozenset, an enum or a frozen struct",
                hint=f"use {_INSTEAD.get(offender, 'a frozen msgspec.Struct')} instead",
            )
    _CHECKED.add(cls)
    return True


def _check_attributes(cls: type, what: str) -> None:
    """Refuse a mutable class attribute: all processes of all runs would share it."""
    for name, value in vars(cls).items():
        kind = next((kind for kind in _INSTEAD if isinstance(value, kind)), None)
        if kind is not None and not name.startswith("__"):
            raise MutableField(
                f"{what} {cls.__name__}: {name!r} is {article(type(value).__name__)} that everybody would share",
                hint=f"declare a field with a type: {name}: {_INSTEAD[kind]} = …",
            )


@cache
def check_defaults(cls: type[msgspec.Struct], what: str) -> None:
    """Refuse a field without a default: a process is created anew after a crash, with defaults only."""
    for field in msgspec.structs.fields(cls):
        if field.required:
            raise BadDeclaration(
                f"{what} {cls.__name__}: field {field.name!r} has no default",
                hint=f"say what it is at the start: {field.name}: … = …",
            )


def mutable_part(hint: Any) -> Any:
    """The first type inside an annotation that is not immutable, or None."""
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is Annotated:
        return mutable_part(arguments[0])
    if origin is Literal:
        return None
    if origin in (Union, types.UnionType, tuple, frozenset):
        return _first(mutable_part(part) for part in arguments if part is not Ellipsis)
    if isinstance(hint, TypeVar) or hint in SCALARS or hint is None:
        return None
    if isinstance(hint, type) and _is_frozen_class(hint):
        return None
    return origin or hint


def is_immutable(value: object) -> bool:
    """True if a value and everything inside it is immutable."""
    if isinstance(value, (*SCALARS, Enum)):
        return True
    if isinstance(value, tuple | frozenset):
        return all(is_immutable(part) for part in value)
    if isinstance(value, msgspec.Struct):
        frozen = value.__struct_config__.frozen
        return frozen and all(is_immutable(getattr(value, name)) for name in value.__struct_fields__)
    return False


def _is_frozen_class(cls: type) -> bool:
    if issubclass(cls, Enum) or cls in (tuple, frozenset):
        return True
    if issubclass(cls, msgspec.Struct):
        return _will_be_frozen(cls)
    return False


def _will_be_frozen(cls: type[msgspec.Struct]) -> bool:
    config = getattr(cls, "__struct_config__", None)
    return bool(config is not None and config.frozen)


def _first(found: typing.Iterator[Any]) -> Any:
    return next((part for part in found if part is not None), None)
