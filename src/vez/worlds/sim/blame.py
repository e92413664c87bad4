"""Blame: find the handler that raised an exception.

The traceback is searched after the exception, so the loop that calls handlers needs no extra code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from opcode import opname
from types import FrameType
from typing import Any

from vez.core.io import Io
from vez.core.process import Process
from vez.core.recorder import Recorder
from vez.errors import HandlerFailed, ProtocolBug
from vez.worlds.sim.delays import US
from vez.worlds.sim.node import Node

DEBUG = "VEZ_DEBUG=1 shows the traceback"
Step = tuple[FrameType, int]
_KIND = re.compile(r"^(.*? raised \w+).*")
_BY_WHOM = re.compile(r" \(process [^)]*\)")
_NO_FIELD = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def blame(error: BaseException, nodes: Iterable[Node], now: int) -> HandlerFailed | None:
    """An error that names the handler's file and line, or None if no handler was running."""

    def when(frame: FrameType) -> str:
        who = _who(nodes, frame)
        return f"{'' if who is None else f'process {who}, '}at {now / US:.12g} ms"

    return blame_handler(error, when, (Node, Recorder))


def blame_handler(
    error: BaseException, when: Callable[[FrameType], str], ios: tuple[type, ...]
) -> HandlerFailed | None:
    """Version of `blame` for any host of handlers. `ios` are the classes of the objects that it passes as `io`."""
    steps = list(_steps(error))
    place = next((place for place, (frame, _) in enumerate(steps) if _process(frame) is not None), None)
    if place is None:
        return None
    frame = steps[place][0]
    words, hint = _words(error, type(_process(frame)).__name__, ios)
    return HandlerFailed(f"{_where(steps[place:])} raised {words} ({when(frame)})", hint=hint or DEBUG)


def is_ctrl_c(error: BaseException) -> bool:
    """True if the error is a `KeyboardInterrupt` that was not raised by a `raise` statement of a handler."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    step, in_handler = error.__traceback__, False
    while step is not None and step.tb_next is not None:
        step = step.tb_next
        in_handler = in_handler or _process(step.tb_frame) is not None
    return step is None or not in_handler or opname[step.tb_frame.f_code.co_code[step.tb_lasti]] != "RAISE_VARARGS"


class Failure:
    """The exception of a handler. Two failures are equal if they come from the same line; their texts may differ by an
    address or a time."""

    def __init__(self, error: ProtocolBug) -> None:
        self.text = error.message if error.hint in ("", DEBUG) else f"{error.message}; {error.hint}"
        """The exception and its place in one line, with a hint if there is one."""
        self._key = _KIND.sub(r"\1", error.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def short(self) -> str:
        """The exception without its place and process: `it raises KeyError: 3`."""
        raised = self.text.partition(" raised ")[2]
        return f"it raises {_BY_WHOM.sub('', raised)}" if raised else self.text.partition(";")[0]


def whose(error: BaseException, nodes: Iterable[Node]) -> int | None:
    """The identifier of the process whose handler raised an exception, or None if no handler was running."""
    frame = next((frame for frame, _ in _steps(error) if _process(frame) is not None), None)
    return None if frame is None else _who(nodes, frame)


def blame_function(error: BaseException, function: Any, what: str) -> HandlerFailed:
    """An error that names a user's function, which was called by the frame that caught the exception."""
    steps = list(_steps(error))[1:]
    code = getattr(function, "__code__", None)
    if steps:
        where = f"{_where(steps)} raised "
    else:  # the call itself failed
        where = f"{_short(code.co_filename)}:{code.co_firstlineno}: {code.co_name}: " if code is not None else ""
    words, hint = _words(error, "", ())
    return HandlerFailed(f"{where}{words} ({what})", hint=hint or DEBUG)


def _where(steps: list[Step]) -> str:
    """File, line and name. The line is the innermost one in the file of the first step."""
    code = steps[0][0].f_code
    line = [line for inner, line in steps if inner.f_code.co_filename == code.co_filename][-1]
    return f"{_short(code.co_filename)}:{line}: {code.co_qualname.rpartition('<locals>.')[2]}"


def _steps(error: BaseException) -> Iterator[Step]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame, step.tb_lineno
        step = step.tb_next


def _process(frame: FrameType) -> Process | None:
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    first = frame.f_locals.get(names[0]) if names else None
    return first if isinstance(first, Process) else None


def _who(nodes: Iterable[Node], frame: FrameType) -> int | None:
    """The identifier of the running process: from its `io`, or, in `status()`, which has none, by search."""
    for value in frame.f_locals.values():
        if isinstance(value, Node | Recorder):
            return int(value.me)
    process = _process(frame)
    return next((node.me for node in nodes if node.process is process), None)


def _words(error: BaseException, algorithm: str, ios: tuple[type, ...]) -> tuple[str, str]:
    """The error as text, and a hint or an empty text."""
    if isinstance(error, AttributeError) and error.name and isinstance(error.obj, ios):
        known = [name for name in vars(Io) if not name.startswith("_")]
        near = get_close_matches(error.name, known, n=1)
        hint = f"did you mean io.{near[0]}?" if near else f"io has {', '.join(known)}"
        return f"AttributeError: io has no {error.name!r}", hint
    # Matched by its text: for a failed assignment Python does not store the object in the exception.
    missing = _NO_FIELD.fullmatch(str(error)) if isinstance(error, AttributeError) else None
    if missing and missing[1] == algorithm:
        hint = f"declare it in {algorithm}, for example `{missing[2]}: int = 0`"
        return f"AttributeError: no field {missing[2]!r}", hint
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, ""


def _short(file: str) -> str:
    """The path relative to the current directory, if the file is below it."""
    try:
        near = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if near.startswith("..") else near
