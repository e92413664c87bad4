"""Promises: the guarantees of an engine in words, one row per trait, and the packages that are missing to use it.

`vez engines`, `vez doctor` and the documentation print the same rows.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from vez.locks.engines.base import Traits

_REACHES = {
    "process": "threads and tasks of one process",
    "machine": "processes of one machine",
    "network": "programs on many machines",
}
_FREES = {
    "kernel": "at once: the kernel reports the death",
    "process": "with the process, in which everything is",
    "members": "when the other members of its group notice",
    None: "never: the others wait until their timeouts",
}
_TOKENS = {"arrival": "drawn when the request arrives", "grant": "drawn when it is granted"}
_ORDER = {
    "all": "among all who ask",
    "vez": "among programs that use vez",
    None: "within one program; among programs as the algorithm decides",
}
_STAYS = {
    "all": "from all stays that have ended",
    "present": "from what holders and waiters have seen themselves",
    None: "not known",
}
_CYCLES = {"all": "refused, whoever takes part", "process": "refused within one process; use timeouts beyond it"}


class Finding(msgspec.Struct, frozen=True):
    """One result of `vez doctor`. A provider may have a function `examine(url)` that returns a list of them."""

    what: str
    found: str
    advice: str = ""
    level: Literal["fine", "note", "problem"] = "fine"
    """`note`: worth knowing; `problem`: the contract is broken, or soon will be."""


def rows(traits: Traits) -> list[tuple[str, str]]:
    """Label and value of each trait."""
    kinds = [
        ("exclusive locks", traits.locks),
        ("shared locks", traits.shared),
        ("semaphores", traits.semaphores),
        ("elections", traits.elections),
    ]
    return [
        ("who can take part", _REACHES[traits.reaches]),
        ("kinds", ", ".join(name for name, has in kinds if has)),
        ("lock of a dead holder is free", freed(traits)),
        (
            "fencing token",
            "none: vez.fence refuses its grants" if traits.token is None else _TOKENS[traits.token],
        ),
        ("first come, first served", _ORDER[traits.order]),
        ("the queue", "is visible, positions too" if traits.queue_visible else "is not visible"),
        ("mean stay, estimated wait", _STAYS[traits.stays]),
        ("cycles of waits", "not seen; use timeouts" if traits.cycles is None else _CYCLES[traits.cycles]),
        ("forced release", "yes, recorded" if traits.breaks else "no"),
        ("work once in a period (`every`)", "yes" if traits.memos else "no: nothing is kept for a name"),
        *([("election", _election(traits))] if traits.elections else []),
        ("a child process can keep the lock", "yes" if traits.lifeline else "no"),
    ]


def freed(traits: Traits) -> str:
    """The time at which the lock of a dead holder becomes free."""
    if traits.frees == "lease":
        seconds = "" if traits.lease_seconds is None else f": {traits.lease_seconds:g} s"
        chosen = " unless lease= says otherwise" if seconds and traits.chosen_leases else ""
        return f"when its lease has expired{seconds}{chosen}"
    return _FREES[traits.frees]


def _election(traits: Traits) -> str:
    first = "the first candidate wins" if traits.order is not None else "the algorithm chooses"
    first = "the heaviest candidate wins, among equals the first" if traits.weights else first
    return f"{first}; a leader {'can' if traits.transfer else 'cannot'} choose the next"


def missing(needs: str) -> list[str]:
    """The packages of an extra, such as `vez[etcd]`, that are not installed."""
    from importlib.metadata import PackageNotFoundError, requires, version

    match = re.fullmatch(r"([\w.-]+)\[([\w.-]+)\]", needs)
    if match is None:
        return []
    absent = []
    try:
        wanted = requires(match[1]) or ()
    except PackageNotFoundError:
        return [match[1]]
    for line in wanted:
        package = re.match(r"[\w.-]+", line)
        if package is not None and re.search(rf"extra\s*==\s*['\"]{re.escape(match[2])}['\"]", line):
            try:
                version(package[0])
            except PackageNotFoundError:
                absent.append(package[0])
    return absent
