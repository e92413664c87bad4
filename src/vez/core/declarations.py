"""Declarations: topology, guarantees and assumptions are checked when the class is defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vez.core.assumptions import Assumption, Property
from vez.core.topology import TOPOLOGIES, Topology
from vez.errors import BadDeclaration, VezError, article

ROLES = ("mutex", "election", "other")
SYMMETRIES = ("", "full", "rotation")


def check_declarations(cls: Any) -> None:
    """Refuse an unknown topology, guarantee or assumption when the class is defined."""
    if not (isinstance(cls.topology, type) and issubclass(cls.topology, Topology)):
        near = [kind.__name__ for kind in TOPOLOGIES.values() if kind.name == cls.topology]
        raise BadDeclaration(
            f"{cls.__name__}: topology = {cls.topology!r}, expected a class of vez.core",
            hint=f"use {near[0]}" if near else f"one of {', '.join(kind.__name__ for kind in TOPOLOGIES.values())}",
        )
    for what, allowed in (("role", ROLES), ("symmetry", SYMMETRIES)):
        if getattr(cls, what) not in allowed:
            raise BadDeclaration(
                f"{cls.__name__}: {what} = {getattr(cls, what)!r}", hint=f"expected {' or '.join(map(repr, allowed))}"
            )
    if not isinstance(cls.name, str):
        raise BadDeclaration(f"{cls.__name__}: name = {cls.name!r}, expected text")
    for what, words in (("guarantees", Property), ("assumes", Assumption)):
        declared = getattr(cls, what)
        if not isinstance(declared, tuple):
            raise BadDeclaration(
                f"{cls.__name__}: {what} = {declared!r}, expected a tuple",
                hint=f"use {what} = ({words.__name__}.{next(iter(words)).name},), with the comma",
            )
        for word in declared:
            if not isinstance(word, words):
                known = {str(member): f"{words.__name__}.{member.name}" for member in words}
                from difflib import get_close_matches

                near = get_close_matches(str(word), known, n=1) or list(known)
                raise BadDeclaration(
                    f"{cls.__name__}: {what} names {word!r}, expected {article(words.__name__)}",
                    hint=f"use {' or '.join(known[name] for name in near)}",
                )
    if cls.role == "mutex" and Property.BOUNDED_WAITING in cls.guarantees:
        _check_bound(cls)


_refused: dict[type, VezError] | None = None
"""The refused classes of the file that is being loaded, each with its error; None if no file is being loaded."""


@contextmanager
def collecting() -> Iterator[dict[type, VezError]]:
    """Collect refused classes instead of raising, so that the other classes of a file are still defined.

    Before a class of that file is used, it must be looked up in the dictionary of refused classes.
    """
    global _refused
    before, _refused = _refused, {}
    try:
        yield _refused
    finally:
        _refused = before


@contextmanager
def deferred(cls: type) -> Iterator[None]:
    """Run the checks of a class that is being defined: an error is raised, or collected during `collecting`."""
    try:
        yield
    except VezError as error:
        if _refused is None:
            raise
        _refused[cls] = error


def checked_bound(cls: Any, n: int) -> int | None:
    """The result of `bypass_bound`: a whole number that is not negative, or None. Anything else is refused."""
    try:
        bound = cls.bypass_bound(n)
    except Exception as error:
        raise BadDeclaration(
            f"{cls.__name__}.bypass_bound({n}) raised {type(error).__name__}: {error}",
            hint="return a whole number for each n, or None if there is no bound",
        ) from error
    if bound is None or (type(bound) is int and bound >= 0):
        return bound
    raise BadDeclaration(
        f"{cls.__name__}: bypass_bound({n}) is {bound!r}, expected how often a request is overtaken at most",
        hint="return a whole number from 0 on, or None if there is no bound",
    )


def _check_bound(cls: Any) -> None:
    """Refuse a class that guarantees `bounded_waiting` without a bound."""
    if not callable(cls.bypass_bound) or checked_bound(cls, 2) is None:
        raise BadDeclaration(
            f"{cls.__name__} guarantees bounded_waiting and names no bound",
            hint="define the class method bypass_bound(cls, n), which returns it for n processes",
        )
