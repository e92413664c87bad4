"""Declarations: topology, guarantees and assumptions are checked when the class is defined."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from vez.core.assumptions import Assumption, Property
from vez.core.topology import TOPOLOGIES, Topology
from vez.errors import BadDeclaration, article


def check_declarations(cls: Any) -> None:
    """Refuse an unknown topology, guarantee or assumption when the class is defined."""
    if not (isinstance(cls.topology, type) and issubclass(cls.topology, Topology)):
        near = [kind.__name__ for kind in TOPOLOGIES.values() if kind.name == cls.topology]
        raise BadDeclaration(
            f"{cls.__name__}: topology = {cls.topology!r}, expected a class of vez.core",
            hint=f"use {near[0]}" if near else f"one of {', '.join(kind.__name__ for kind in TOPOLOGIES.values())}",
        )
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
                near = get_close_matches(str(word), known, n=1) or list(known)
                raise BadDeclaration(
                    f"{cls.__name__}: {what} names {word!r}, expected {article(words.__name__)}",
                    hint=f"use {' or '.join(known[name] for name in near)}",
                )
