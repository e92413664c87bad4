"""The checks of `vez doctor` on the directory of the file engine."""

from __future__ import annotations

import os
import shutil

from vez.locks.engines import handles
from vez.locks.engines.file.directory import file_system, open_directory
from vez.locks.engines.file.place import Place
from vez.locks.engines.promises import Finding

_TEMPORARY = {0x01021994: "tmpfs", 0x858458F6: "ramfs"}
_DISKS = {0xEF53: "ext4", 0x58465342: "XFS", 0x9123683E: "btrfs", 0x2FC12FC1: "ZFS", 0x794C7630: "overlayfs"}
_LEAST_FREE = 64 << 20
"""Free bytes below which a file system counts as nearly full. A new name takes a file of some kilobytes, a forced
release a record."""


def examine_directory(place: Place) -> list[Finding]:
    """Findings about the directory, its file system, its free space, and the number of names that this process can use
    at once."""
    descriptor = open_directory(place)  # refuses a directory that cannot be trusted, with the reason
    try:
        return [_which(place), _system(file_system(descriptor)), _room(place), _limits()]
    finally:
        handles.close_handle(descriptor)


def _which(place: Place) -> Finding:
    who = f"group {place.group}" if place.group is not None else f"user {os.geteuid()}"
    why = "the default of this user" if place.is_default else "named by the URL or VEZ_DIR"
    advice = "" if place.is_default else "every program that takes turns with this one must name the same directory"
    return Finding("directory", f"{place.path}, for {who}, {why}", advice)


def _system(magic: int) -> Finding:
    if (name := _TEMPORARY.get(magic)) is not None:
        advice = "a reboot empties it; tokens still grow, since a new file starts above the clock's old value"
        return Finding("file system", f"{name}, in memory", advice, "note")
    return Finding("file system", f"{_DISKS.get(magic, f'number {magic:#x}')}, of this machine")


def _room(place: Place) -> Finding:
    free = shutil.disk_usage(place.path).free
    if free < _LEAST_FREE:
        advice = "make room: on a full disk a new name or a forced release is refused"
        return Finding("free space", f"{free >> 20} MiB", advice, "problem")
    return Finding("free space", f"{free >> 20:,} MiB")


def _limits() -> Finding:
    allowed = handles.allowed()
    if allowed < 256:
        advice = "raise it (ulimit -n) if one process uses many names: each that is in use takes two descriptors"
        return Finding("open files allowed", str(allowed), advice, "note")
    return Finding("open files allowed", f"{allowed:,}")
