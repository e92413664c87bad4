"""Effects: the calls that a handler makes on `Io`, as data, and the checks of their arguments.

The checks are here so that a mistake gives the same error in the simulator, in the checker and on a node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from vez.core.message import Message
from vez.core.topology import Topology
from vez.errors import ProtocolBug, article

if TYPE_CHECKING:
    from vez.core.io import Io

MAX_TIMER_MS = 1e12
"""Longest timer, about thirty years: its microseconds still fit into 64 bits."""


class Send(NamedTuple):
    """`io.send`. A broadcast is recorded as one `Send` for each peer."""

    to: int
    message: Message


class SetTimer(NamedTuple):
    """`io.set_timer`."""

    name: str
    after_ms: float


class CancelTimer(NamedTuple):
    """`io.cancel_timer`."""

    name: str


class Choose(NamedTuple):
    """`io.choose`, with the index of the chosen option."""

    options: tuple[Any, ...]
    chosen: int


class Enter(NamedTuple):
    """`io.enter`."""

    token: int | None


class Elect(NamedTuple):
    """`io.elected`; the leader is None if no leader is known."""

    leader: int | None
    term: int


class Note(NamedTuple):
    """`io.note`."""

    text: str


Effect = Send | SetTimer | CancelTimer | Choose | Enter | Elect | Note


def perform(effect: Effect, io: Io) -> None:
    """Make the recorded call on `io`. A `Choose` does nothing, because the choice has been made already."""
    match effect:
        case Send(to, message):
            io.send(to, message)
        case SetTimer(name, after_ms):
            io.set_timer(name, after_ms)
        case CancelTimer(name):
            io.cancel_timer(name)
        case Enter(token):
            io.enter(token)
        case Elect(leader, term):
            io.elected(leader, term)
        case Note(text):
            io.note(text)
        case Choose():
            pass


def call_words(effect: Effect) -> str:
    """An effect as the call that made it: `send(2, Hello(number=1))`."""
    names = {Send: "send", SetTimer: "set_timer", CancelTimer: "cancel_timer", Choose: "choose", Enter: "enter",
             Elect: "elected", Note: "note"}  # fmt: skip
    return f"{names[type(effect)]}({', '.join(map(str, effect))})"


def check_send(topology: Topology, sender: int, to: object, message: object) -> None:
    """Refuse a value that is not a message, and a receiver that does not exist or cannot be reached."""
    if not isinstance(message, Message):
        raise ProtocolBug(
            f"process {sender} sent {message!r}, which is not a Message",
            hint="declare `class Something(Message)` with typed fields",
        )
    if not _is_whole(to) or not topology.has_process(to):
        what = article(type(message).__name__)
        raise ProtocolBug(f"process {sender} sent {what} to {to!r}, which does not exist")
    if to != sender and not topology.has_channel(sender, to):
        what = article(type(message).__name__)
        raise ProtocolBug(
            f"process {sender} sent {what} to {to}, to which it has no channel",
            hint=f"its neighbours in the {topology.name}: {topology.neighbours(sender)}",
        )


def check_delay(algorithm: str, name: str, after_ms: float) -> None:
    """Refuse a timer that lies in the past, is not a number or is too long."""
    if not isinstance(after_ms, (int, float)):
        raise ProtocolBug(f"{algorithm} set timer {name!r} to {after_ms!r}, expected a number of milliseconds")
    if not 0 <= after_ms <= MAX_TIMER_MS:
        reason = "in the past" if after_ms < 0 else f"expected 0 to {MAX_TIMER_MS:g}"
        raise ProtocolBug(f"{algorithm} set timer {name!r} to {after_ms} ms, {reason}")


def check_options(algorithm: str, count: int) -> None:
    """Refuse a choice among no options."""
    if count < 1:
        raise ProtocolBug(f"{algorithm} chose among no options")


def check_leader(algorithm: str, topology: Topology, me: int, leader: object, term: object) -> None:
    """Refuse a leader that is not a process, and a term that is not a whole number."""
    known = leader is None or (_is_whole(leader) and topology.has_process(leader))
    if not known or not _is_whole(term):
        raise ProtocolBug(
            f"{algorithm}: process {me} called io.elected({leader!r}, {term!r})",
            hint="expected the identifier of a process or None, and a whole number as the term",
        )


def check_token(algorithm: str, me: int, token: object) -> None:
    """Refuse a fencing token that is not a whole number: the resource compares tokens by size."""
    if token is not None and not _is_whole(token):
        raise ProtocolBug(
            f"{algorithm}: process {me} called io.enter({token!r})",
            hint="expected a whole number as the token, or none",
        )


def _is_whole(value: object) -> TypeGuard[int]:
    """True if the value is an int and not a bool, although Python counts a bool as an int."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_text(algorithm: str, what: str, text: object) -> None:
    """Refuse a remark or a status that is not text. `what` names its origin."""
    if not isinstance(text, str):
        raise ProtocolBug(f"{algorithm}: {what} {text!r}, expected text", hint="use str(...)")


def unasked_entry(algorithm: str, role: str, me: int, *, inside: bool) -> ProtocolBug:
    """The error for a call of `io.enter()` without a request, if no fault explains it."""
    hint = "call it once for each on_want" if role == "mutex" else "only a Mutex calls it; an Election calls io.elected"
    return ProtocolBug(f"{algorithm}: {spurious_entry(me, inside=inside)}", hint=hint)


def spurious_entry(me: int, *, inside: bool) -> str:
    """The text that describes a call of `io.enter` for which no request waits."""
    return f"process {me} called io.enter() but {spurious_state(inside=inside)}"


def spurious_state(*, inside: bool) -> str:
    """The text that describes why no request waits: the process is inside already, or did not ask."""
    return "is inside already" if inside else "does not want in"
