"""The rooms of the package and their allowed imports: `python -m tools.rooms` prints the picture in ARCHITECTURE.md.

A room is a folder directly under `src/vez`. `ROOMS` lists the other rooms that it may import as a whole. `DOORS` are
the few exceptions: one part of a room that may import one part of another. `PARTS` lists the parts of the same room
that a part may import; parts that are not listed may import any part of their room. `tests/test_architecture.py` checks
all of it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "vez"
ANYBODY = ("errors", "plugins", "__version__")
"""Modules and names beside the rooms that every room may import."""
EVERY_ROOM = (
    "core", "threads", "judge", "worlds", "catalogue", "draw", "study", "locks", "testing", "servers", "cli",
)  # fmt: skip

ROOMS: dict[str, tuple[str, ...]] = {
    "core": (),
    "threads": (),
    "judge": ("core",),
    "worlds": ("core",),
    "catalogue": ("core",),
    "draw": ("core", "judge"),
    "study": ("core", "judge", "worlds", "catalogue", "draw"),
    "locks": (),
    "testing": ("locks",),
    "servers": ("draw",),
    "cli": tuple(room for room in EVERY_ROOM if room != "cli"),
}
DOORS: dict[str, tuple[str, ...]] = {
    "worlds.check": ("judge", "threads"),
    "catalogue.zoo": ("worlds.sim",),
    "catalogue.load": ("locks.models",),
    "locks.models": ("core",),
    "locks.peers": ("core", "worlds.node", "worlds.sim", "catalogue.load"),
    "testing.torture": ("core", "judge"),
    "servers.paging": ("testing.servers",),
}
PARTS: dict[str, tuple[str, ...]] = {
    "core.detectors": (),
    "judge.words": (),
    "judge.properties": ("words",),
    "worlds.sim": (),
    "worlds.node": ("sim",),
    "worlds.check": ("sim",),
    "locks.table": (),
    "locks.recipes": (),
    "locks.fence": (),
    "locks.engines": ("recipes", "table"),
    "locks.turns": ("engines",),
    "locks.models": ("recipes", "table"),
    "locks.peers": ("engines",),
    "locks.supervise": ("engines", "turns"),
    "locks.exporters": ("fence", "turns"),
    "testing.torture": (),
    "servers.serving": (),
    "servers.paging": ("serving",),
    "servers.fetching": ("serving",),
    "servers.experiments": ("serving",),
}
PURE = ("core", "catalogue.mutex", "catalogue.election", "locks.models", "locks.recipes", "locks.table")
"""Parts that import no clock, randomness, socket or thread."""
PUBLIC = {
    "aio": "locks.turns",
    "algorithms": "catalogue.algorithms",
    "check": "worlds.check",
    "detectors": "core.detectors",
    "fence": "locks.fence",
    "metrics": "locks.exporters",
    "properties": "judge.properties",
    "sim": "worlds.sim",
    "validate": "judge.validate",
}
"""Modules beside the rooms that give a public name to a part of a room."""


class Import(NamedTuple):
    """One module of vez that imports another, both by their dotted names without `vez.`."""

    importer: str
    imported: str


def module_of(path: Path) -> str:
    """The dotted name of a file: `locks.engines.file.bell`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def names_imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "vez":
                yield from (f"vez.{alias.name}" for alias in node.names)
            else:
                yield node.module


def refusal(one: Import) -> str | None:
    """Reason why this import is against the rules; None if it is allowed."""
    imported = one.imported
    public = PUBLIC.get(imported.split(".")[0])
    if public is not None and "." not in imported:
        imported = public
    room, target = one.importer.split(".")[0], imported.split(".")[0]
    if target in ANYBODY or room not in ROOMS:
        return None
    if room == target:
        return _refusal_within(one.importer, imported)
    through = [there for part, doors in DOORS.items() if within(one.importer, part) for there in doors]
    if target in ROOMS[room] or any(within(imported, there) for there in through):
        return None
    return f"{one.importer} may not import vez.{imported}: see `python -m tools.rooms`"


def _refusal_within(importer: str, imported: str) -> str | None:
    """Reason why an import within a room is against the rules. A part may import itself and the parts named for it."""
    for part, allowed in PARTS.items():
        if not within(importer, part) or within(imported, part):
            continue
        room = part.split(".")[0]
        if not any(within(imported, f"{room}.{other}") for other in allowed):
            return f"{importer} may not import vez.{imported}: see PARTS in tools/rooms.py"
    return None


def within(module: str, part: str) -> bool:
    """True if the module is the part or lies inside it."""
    return module == part or module.startswith(f"{part}.")


def importers(room: str) -> str:
    """The sentence in the docstring of a room that says who may import it."""
    whole = [other for other in EVERY_ROOM if room in ROOMS[other]]
    doors = [part for part, leads in DOORS.items() if any(within(there, room) for there in leads)]
    return f"May be imported by: {', '.join([*whole, *doors])}." if room != "cli" else "No other room may import it."


def picture() -> str:
    """The picture in ARCHITECTURE.md: the rooms, each with the rooms that it imports, and the doors."""
    lines = [f"{'room':10}  imports"]
    lines += [
        f"{room:10}  {'every other room' if room == 'cli' else ', '.join(ROOMS[room]) or '-'}" for room in EVERY_ROOM
    ]
    lines += ["", f"{'door':16}  leads to"]
    lines += [f"{part:16}  {', '.join(doors)}" for part, doors in DOORS.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit("usage: python -m tools.rooms")
    print(picture())
