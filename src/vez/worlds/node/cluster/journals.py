"""Journals: reads the journals of all incarnations of the nodes. A line that a crash cut short is ignored."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Union, get_args

import msgspec

from vez.core.trace import AnyEvent, Delivered
from vez.errors import BadData, MissingFile
from vez.worlds.node.journal import FORMAT, Ended, Head, Received

_head = msgspec.json.Decoder(Head)
_event: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    Union[(Received, Ended, *(kind for kind in get_args(AnyEvent) if kind is not Delivered))]
)


class Life(NamedTuple):
    """One incarnation of one node: the head of its journal, and its events in order."""

    head: Head
    events: list[AnyEvent]
    is_killed: bool = False
    """True if the node did not stop in order."""
    has_raised: bool = False
    """True if an exception in a handler ended the node. The last event notes the exception."""


def read_lives(folder: Path) -> list[Life]:
    """All journals of a folder; those of each node are in the order of its lives.

    In a folder that `vez cluster --keep` made, the journals are in its subfolder `journal`.
    """
    if (inner := folder / "journal").is_dir():
        folder = inner
    lives, found = list[Life](), dict[tuple[int, str], Path]()
    for path in sorted(folder.glob("*.jsonl")):
        life = read_life(path)
        if life is None:
            continue
        other = found.setdefault((life.head.node, life.head.incarnation), path)
        if other is not path:
            raise BadData(
                f"{other} and {path} are journals of the same life of node {life.head.node}",
                hint="remove one of them; the file of a life is named after its node and its incarnation",
            )
        lives.append(life)
    if not lives:
        raise MissingFile(f"there are no journals in {folder}", hint="`vez node --trace DIR` writes them")
    return sorted(lives, key=lambda life: life.events[0].at)


def read_life(path: Path) -> Life | None:
    """One journal; None if the node did not start."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    lines = raw.split(b"\n")[:-1]  # the part after the last newline is empty, or a line that was cut short
    if not lines:
        return None
    try:
        head = _head.decode(lines[0])
        if not 1 <= head.vez_journal <= FORMAT:
            raise BadData(f"{path} is a journal of format {head.vez_journal}; this vez reads formats 1 to {FORMAT}")
        events = [_event.decode(line) for line in lines[1:]]
    except msgspec.MsgspecError as error:
        raise BadData(
            f"{path} is damaged: {error}", hint="it must be a journal as `vez node --trace` writes it"
        ) from error
    if any(event.process != head.node for event in events):
        raise BadData(f"{path} holds events of other processes than node {head.node}")
    ended = events.pop() if events and isinstance(events[-1], Ended) else None
    if any(isinstance(event, Ended) for event in events):
        raise BadData(f"{path} goes on after its end")
    if ended is not None and ended.events not in (None, len(events)):
        raise BadData(
            f"{path} holds {len(events)} of the {ended.events} events that its last line names",
            hint="the file is damaged or not complete",
        )
    raised = ended is not None and ended.raised
    return Life(head, events, head.vez_journal > 1 and ended is None, raised) if events else None
