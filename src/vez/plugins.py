"""Plug-ins: engines and algorithms of other packages, found through entry points and loaded when they are used.

A package names them in its `pyproject.toml`:

    [project.entry-points."vez.engines"]
    tiny = "tiny_vez.engine"            # the scheme of its URLs, and a provider

    [project.entry-points."vez.algorithms"]
    tiny-ring = "tiny_vez.ring:TinyRing"

What vez has itself comes first and cannot be replaced. Names are read from the metadata of the installed packages, and
no code of a plug-in runs before it is asked for by its name or listed. A broken one is a `BrokenPlugin` in one line.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from vez.errors import BrokenPlugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger("vez.plugins")

ENGINES = "vez.engines"
ALGORITHMS = "vez.algorithms"


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """The plug-ins of a group by name, sorted. If two packages use one name, the first by the package's name counts."""
    found = sorted(_found(group), key=lambda entry: (entry.name, package_of(entry), entry.value))
    first = {entry.name: entry for entry in reversed(found)}
    return {name: first[name] for name in sorted(first)}


def _found(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group. A package whose list cannot be read is named in one line and passed over."""
    from importlib.metadata import distributions, entry_points  # here: reading the metadata takes milliseconds

    try:
        return entry_points(group=group)
    except Exception:  # of one package, which one it does not say
        found: dict[str, list[EntryPoint]] = {}
    for dist in distributions():
        try:
            if (name := dist.name) not in found:  # the first on the path counts
                found[name] = []
                found[name] = [entry for entry in dist.entry_points if entry.group == group]
        except Exception as error:
            log.warning("the entry points of %s cannot be read: %s", getattr(dist, "_path", "a package"), error)
    return chain.from_iterable(found.values())


def package_of(entry: EntryPoint) -> str:
    """The package that brings the plug-in, with its version."""
    dist = entry.dist
    return "an unknown package" if dist is None else f"{dist.name} {dist.version}"


@cache
def load(group: str, name: str) -> object:
    """What the plug-in of that name leads to. Its own mistakes are `BrokenPlugin`, whatever they are."""
    entry = entries(group)[name]
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise broken_by(group, name, error) from error


def broken_by(group: str, name: str, error: BaseException) -> BrokenPlugin:
    """The error for a plug-in whose own code has failed."""
    words = " ".join(str(error).split())
    return broken(group, name, f"{type(error).__name__}: {words}" if words else type(error).__name__)


def broken(group: str, name: str, why: str) -> BrokenPlugin:
    """The error for a plug-in that cannot be used."""
    what = "engine" if group == ENGINES else "algorithm"
    return BrokenPlugin(
        f"the {what} {name!r} of the package {package_of(entries(group)[name])} cannot be used: {why}",
        hint="update or remove that package; everything else works without it",
    )
