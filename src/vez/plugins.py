"""Plug-ins: engines and algorithms of other packages, found through entry points and loaded when they are used.

A package names them in its `pyproject.toml`:

    [project.entry-points."vez.engines"]
    tiny = "tiny_vez.engine"            # the scheme of its URLs, and a provider

    [project.entry-points."vez.algorithms"]
    tiny-ring = "tiny_vez.ring:TinyRing"

The engines and algorithms of vez come first and cannot be replaced. Names are read from the metadata of the installed
packages. The code of a plug-in runs only when the plug-in is used by its name or listed. A plug-in that fails raises
`BrokenPlugin`, an error of one line.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from vez.errors import BrokenPlugin

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

ENGINES = "vez.engines"
ALGORITHMS = "vez.algorithms"


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """The plug-ins of a group by name, sorted. If two packages use the same name, the package whose name sorts first
    wins."""
    found = sorted(_found(group), key=lambda entry: (entry.name, package_of(entry), entry.value))
    first = {entry.name: entry for entry in reversed(found)}
    return {name: first[name] for name in sorted(first)}


def _found(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group. A package whose list cannot be read is reported in one line and skipped."""
    from importlib.metadata import distributions, entry_points  # here, because reading the metadata takes milliseconds

    try:
        return entry_points(group=group)
    except Exception:  # an error in one package; the exception does not name it
        found: dict[str, list[EntryPoint]] = {}
    from logging import getLogger  # here: most programs never meet such a package

    for dist in distributions():
        try:
            if (name := dist.name) not in found:  # the first on the path counts
                found[name] = []
                found[name] = [entry for entry in dist.entry_points if entry.group == group]
        except Exception as error:
            getLogger("vez.plugins").warning(
                "the entry points of %s cannot be read: %s", getattr(dist, "_path", "a package"), error
            )
    return chain.from_iterable(found.values())


def package_of(entry: EntryPoint) -> str:
    """The package that contains the plug-in, with its version."""
    dist = entry.dist
    return "an unknown package" if dist is None else f"{dist.name} {dist.version}"


@cache
def load(group: str, name: str) -> object:
    """The object that the plug-in of that name provides. Any exception of its code becomes `BrokenPlugin`."""
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
