"""Control: commands to a node, one a line, from standard input or a control socket; answers are JSON lines.

want [MS [LINGER]]   want in; leave after MS milliseconds, or when told to; LINGER counts if it withdrew before
leave                leave the critical section
withdraw             no longer wait
elect                ask for an election
status               print the state of the node
crash [ACTIONS]      stop at once, as if killed, or inside a handler, after so many of its actions
cut PEER             carry no messages to a peer
heal PEER            carry messages to it again
slow PEER MS         deliver everything to a peer later
suspect PEER         tell the process that a peer is dead, whether it is or not
trust PEER           tell the process that a peer is alive
start                begin, if the node was started with --hold
stop                 end in order
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from vez.errors import Misuse, UnknownName, VezError
from vez.worlds.node.group import Unix
from vez.worlds.node.sockets import Listener, listen

LONGEST = 1000
"""The largest number of characters of a command."""
FORMS = (
    "want [MS [LINGER]]", "leave", "withdraw", "elect", "status", "crash [ACTIONS]", "cut PEER", "heal PEER",
    "slow PEER MS", "suspect PEER", "trust PEER", "start", "stop",
)  # fmt: skip
"""The syntax of each command."""
TOO_LONG = {"error": f"a command has at most {LONGEST} characters", "hint": ""}


class Controlled(Protocol):
    """The commands of a node. Each raises `Misuse` if it is not possible now."""

    def want(self, inside_ms: float | None, linger_ms: float = 0.0) -> None: ...

    def leave(self) -> None: ...

    def withdraw(self) -> None: ...

    def elect(self) -> None: ...

    def status(self) -> dict[str, Any]: ...

    def crash(self, actions: int | None = None) -> None: ...

    def cut(self, peer: int) -> None: ...

    def heal(self, peer: int) -> None: ...

    def slow(self, peer: int, delay_ms: float) -> None: ...

    def suspect(self, peer: int) -> None: ...

    def trust(self, peer: int) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


def obey(node: Controlled, line: str) -> dict[str, Any] | None:
    """Perform the command of a line. Returns the answer, or None if there is none."""
    if len(line) > LONGEST:
        return TOO_LONG
    words = line.split()
    if not words:
        return None
    try:
        return _obey(node, words[0], words[1:])
    except VezError as error:
        return {"error": error.message, "hint": error.hint}


def _obey(node: Controlled, word: str, values: list[str]) -> dict[str, Any] | None:
    match word, values:
        case "want", []:
            node.want(None)
        case "want", [inside_ms, *linger_ms] if len(linger_ms) < 2:
            node.want(_ms(inside_ms), *map(_ms, linger_ms))
        case "crash", [actions]:
            if (count := _number(actions, "a number of actions")) < 0:
                raise Misuse(f"{count} is not a number of actions")
            node.crash(count)
        case (("cut" | "heal" | "suspect" | "trust"), [peer]):
            getattr(node, word)(_number(peer, "the identifier of a node"))
        case "slow", [peer, delay_ms]:
            node.slow(_number(peer, "the identifier of a node"), _ms(delay_ms))
        case "status", []:
            return {"status": node.status()}
        case (("leave" | "withdraw" | "elect" | "crash" | "start" | "stop"), []):
            getattr(node, word)()
        case _:
            known = {form.split()[0]: form for form in FORMS}
            if word in known:
                needed = [part for part in known[word].split()[1:] if not part.startswith("[")]
                if missing := needed[len(values) :]:
                    raise Misuse(f"{word} needs {' and '.join(missing)}", hint=known[word])
                raise Misuse(f"{word} does not take {' '.join(values)[:40]!r}", hint=known[word])
            raise UnknownName("command", word[:40], known)
    return None


def _ms(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) <= 1e9 and math.isfinite(value):
            return value
    raise Misuse(f"{text[:40]!r} is not a number of milliseconds")


def _number(text: str, what: str) -> int:
    try:
        return int(text[:20])
    except ValueError:
        raise Misuse(f"{text[:40]!r} is not {what}") from None


def json_line(answer: Any) -> bytes:
    """An answer or an event as one line."""
    return msgspec.json.encode(answer, order="deterministic") + b"\n"


def read_input(node: Controlled, say: Callable[[Any], None]) -> None:
    """Perform the commands on standard input. A thread reads it, because not every kind of file can be awaited.

    The end of the input stops the node, unless the input is `/dev/null`: then the node continues.
    """
    loop = asyncio.get_running_loop()
    stream = sys.stdin  # the thread keeps it: Python aborts if it closes, at exit, a stream that a thread still reads
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):  # closed, or not a real file
        return
    if stat.S_ISCHR(mode) and not os.isatty(descriptor):
        return

    def one(line: bytes) -> None:
        answer = obey(node, line.decode(errors="replace"))
        if answer is not None:
            say(answer)

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            for line in stream.buffer:
                loop.call_soon_threadsafe(one, line)
            loop.call_soon_threadsafe(node.stop)

    threading.Thread(target=read, daemon=True).start()


class Session(asyncio.Protocol):
    """One client of the control socket. It has no task, so that none must be cancelled when the node ends."""

    def __init__(self, node: Controlled, sessions: set[Session]) -> None:
        self._node = node
        self._sessions = sessions
        self._rest = b""  # the beginning of an incomplete line

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._sessions.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._sessions.discard(self)

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._obey(line)
        if len(self._rest) > LONGEST:
            self._transport.write(json_line(TOO_LONG))
            self.close()

    def eof_received(self) -> None:
        if self._rest:
            self._obey(self._rest)

    def pause_writing(self) -> None:
        self._transport.pause_reading()  # a client that does not read gets no more answers

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection after the answers are written."""
        self._transport.close()

    def _obey(self, line: bytes) -> None:
        answer = obey(self._node, line.decode(errors="replace"))
        self._transport.write(json_line({"ok": True} if answer is None else answer))


class Control(NamedTuple):
    """The control socket of a node."""

    listener: Listener
    sessions: set[Session]

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self.listener.stop()
        for session in list(self.sessions):
            session.close()


async def serve(node: Controlled, path: Path) -> Control:
    """Perform the commands of clients that connect to a Unix socket in a private directory."""
    sessions: set[Session] = set()
    return Control(await listen(Unix(str(path)), lambda: Session(node, sessions)), sessions)
