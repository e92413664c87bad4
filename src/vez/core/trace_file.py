"""Trace files: reads format 2, and format 1, which it converts to format 2.

Format 1 (vez 0.1) numbered all messages of a run with one counter, so a delivery did not name its sender, and it had
no `INTERNAL` events. Its traces are judged and drawn like any other, but a validation can check less in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_args

import msgspec

from vez.core.trace import (
    FORMAT,
    AnyEvent,
    Cut,
    Delivered,
    Elected,
    Event,
    Header,
    Healed,
    Lost,
    MessageId,
    Recovered,
    Sent,
    Started,
    Stored,
    Suspected,
    Trace,
    Trusted,
    Unseen,
)
from vez.errors import BadData, MissingFile

MAX_DEPTH = 30
MAX_BYTES = 256 * 1024 * 1024
"""Largest file in bytes. A trace is read as a whole, so a larger file is refused."""
_HINT = "a trace is JSON lines as written by `vez sim --trace`"

_OTHERS: dict[type[Event], str] = {
    Sent: "to", Cut: "to", Healed: "to", Suspected: "peer", Trusted: "peer", Elected: "leader", Delivered: "sender",
}  # fmt: skip
"""The fields in which events name a second process."""


class _Delivered1(Event, tag="delivered"):
    """A delivery of format 1."""

    number: int


_header = msgspec.json.Decoder(Header)
_event = msgspec.json.Decoder(AnyEvent)
_event_1: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
    Union[(_Delivered1, *(kind for kind in get_args(AnyEvent) if kind is not Delivered))]
)


def load(path: Path) -> Trace:
    """Read a trace from a file, and refuse one that makes no sense."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)  # without its size: a pipe has none, and a device may have no end
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    if len(raw) > MAX_BYTES:
        raise BadData(f"{path} is larger than {MAX_BYTES >> 20} MiB", hint="record a shorter run")
    return decode(raw, str(path))


def decode(raw: bytes, where: str) -> Trace:
    """The trace in these bytes. Every line is untrusted."""
    lines = raw.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise BadData(f"{where} is empty, expected a trace", hint="write one with `vez sim ... --trace FILE`")
    number = 1
    try:
        header = _header.decode(lines[0])
        if not 1 <= header.vez_trace <= FORMAT:
            raise BadData(f"{where} is a trace of format {header.vez_trace}; this vez reads formats 1 to {FORMAT}")
        decoder = _event if header.vez_trace == FORMAT else _event_1
        events: list[Any] = []
        for line in lines[1:]:
            number += 1
            events.append(decoder.decode(line))
            _check_depth(events[-1])
    except msgspec.MsgspecError as error:
        raise BadData(f"{where}, line {number}: {error}", hint=_HINT) from error
    except RecursionError:
        raise BadData(f"{where}, line {number}: nested too deeply", hint=_HINT) from None
    if header.events is not None and header.events != len(events):
        raise BadData(
            f"{where} holds {len(events)} of the {header.events} events that its first line names",
            hint="the file is damaged or not complete",
        )
    if header.vez_trace == 1:
        header = msgspec.structs.replace(header, vez_trace=FORMAT, unseen=get_args(Unseen))
        events = list(_upgraded(events, where))
    trace = Trace(msgspec.structs.replace(header, events=None), tuple(events))
    _check(trace, where)
    return trace


def _upgraded(events: list[Any], where: str) -> Iterator[AnyEvent]:
    """Convert events of format 1: number the messages by sender."""
    known: dict[int, MessageId] = {}
    counts: defaultdict[int, int] = defaultdict(int)
    for line, event in enumerate(events, 2):
        if isinstance(event, Sent):
            counts[event.process] += 1
            known[event.number] = event.process, counts[event.process]
            yield msgspec.structs.replace(event, number=counts[event.process])
        elif isinstance(event, _Delivered1 | Lost):
            if event.number not in known:
                raise BadData(f"{where}, line {line}: message {event.number} was never sent")
            sender, number = known[event.number]
            if isinstance(event, Lost):
                yield msgspec.structs.replace(event, process=sender, number=number)
            else:
                yield Delivered(event.at, event.process, sender, number)
        else:
            yield event


def _check_depth(event: AnyEvent) -> None:
    """Refuse values that are nested so deeply that labels, pictures or JSON could not process them."""
    if not isinstance(event, Sent | Started | Stored | Recovered):
        return
    level: list[Any] = [*event.fields.values(), *(event.parameters.values() if isinstance(event, Started) else ())]
    for _ in range(MAX_DEPTH):
        level = [
            part
            for value in level
            if isinstance(value, list | dict)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise RecursionError


def _check(trace: Trace, where: str) -> None:
    """Refuse events of unknown processes or messages, and times that decrease."""
    known, sent, at = set(trace.header.ids), set[MessageId](), 0
    if not known:
        raise BadData(f"{where}, line 1: a run has at least one process", hint=_HINT)
    if trace.header.hosts and len(trace.header.hosts) != len(trace.header.ids):
        raise BadData(f"{where}, line 1: expected a host for each of {len(trace.header.ids)} processes", hint=_HINT)
    named = {*trace.header.initial, *map(str, trace.header.cut)}
    if not named <= set(map(str, known)) or not all(trace.header.initial.values()):
        raise BadData(f"{where}, line 1: initial fields, or a cut, of a process that is not there", hint=_HINT)
    if trace.header.loop_us is not None and not 0 <= trace.header.loop_us[0] < trace.header.loop_us[1]:
        raise BadData(f"{where}, line 1: a loop has a start and a later end", hint=_HINT)
    for line, event in enumerate(trace.events, 2):
        if event.process not in known:
            raise BadData(f"{where}, line {line}: there is no process {event.process}")
        if event.at < at:
            raise BadData(f"{where}, line {line}: time runs backwards from {at} to {event.at}")
        at = event.at
        other = getattr(event, _OTHERS.get(type(event), ""), event.process)
        if other is not None and other not in known:
            raise BadData(f"{where}, line {line}: there is no process {other}")
        if isinstance(event, Sent):
            sent.add(event.message)
        elif isinstance(event, Delivered | Lost) and event.message not in sent:
            sender, number = event.message
            raise BadData(f"{where}, line {line}: process {sender} never sent a message {number}")
