"""Slots: the description of each request in the file, which other processes read."""

# Annotations are not text here: NamedTuple and TypedDict would compile each of them when the module is imported.
import os
from typing import TYPE_CHECKING, NamedTuple

from vez.locks.engines.file.layout import HELD, NAMESPACE
from vez.locks.engines.machine import host_name

if TYPE_CHECKING:
    from vez.locks.engines.base import Contestant


class Slot(NamedTuple):
    """One slot; the fields of `layout.SLOT`."""

    ticket: int
    owner: int
    since: float
    granted: float
    bell: bytes
    waits: int
    pid: int
    namespace: int
    successor: int
    grace_ms: int
    weight: int
    state: int
    shared: int
    network: int
    label: bytes


def ended(slot: Slot) -> bool:
    """True if the process of a slot has ended, as far as we can see; its children may keep the byte locked."""
    if slot.namespace != NAMESPACE:
        return False
    try:
        os.kill(slot.pid, 0)
    except (ProcessLookupError, OverflowError):  # a damaged slot may contain a number that no process can have
        return True
    except OSError:
        return False
    return False


def label_of(slot: Slot) -> str:
    """The label as text. Control characters are refused when a label is given. If there are any, the slot is damaged,
    and they are not shown."""
    text = slot.label.rstrip(b"\0").decode(errors="replace")
    return (
        text
        if text.isprintable()
        else "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
    )


def contestant(slot: Slot, *, lost: bool = False, term: int | None = None) -> "Contestant":
    """A slot as `inspect` shows it. The token of a leader is its term, not its ticket."""
    from vez.locks.engines.base import Contestant

    return Contestant(
        token=slot.ticket if term is None else term,
        pid=slot.pid,
        host=host_name(),
        since=slot.granted if slot.state == HELD else slot.since,
        shared=bool(slot.shared),
        label=label_of(slot),
        weight=slot.weight,
        lost=lost,
        ended=slot.state == HELD and ended(slot),
    )
