"""Processes that a test started, as the kernel sees them."""

from __future__ import annotations

from pathlib import Path


def is_alive(process: int) -> bool:
    """True while a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(parent: int) -> set[int]:
    """The living processes below one."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, above = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has ended meanwhile
            continue
        if state != "Z":
            parents[int(entry.name)] = int(above)
    found: set[int] = set()
    while new := {one for one, above in parents.items() if above in found | {parent}} - found:
        found |= new
    return found
