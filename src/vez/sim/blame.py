"""Blame: whose fault it is when a handler raises something of its own.

Looked for only after the fact, in the traceback, so that the loop which calls handlers stays as lean as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from types import FrameType
from typing import Any

from vez.core.io import Io
from vez.core.process import Process
from vez.core.recorder import Recorder
from vez.errors import HandlerFailed
from vez.sim.delays import US
from vez.sim.node import Node

DEBUG = "VEZ_DEBUG=1 shows the traceback"
Step = tuple[FrameType, int]
_NO_FIELD = re.compile(r"'(\w+)' object has no attribute '(\w+)'")


def blame(error: BaseException, nodes: Iterable[Node], now: int) -> HandlerFailed | None:
    """The error with the handler's file and line, or None where no handler was at work."""

    def when(frame: FrameType) -> str:
        who = _who(nodes, frame)
        return f"{'' if who is None else f'process {who}, '}at {now / US:.12g} ms"

    return blame_handler(error, when, (Node, Recorder))


def blame_handler(
    error: BaseException, when: Callable[[FrameType], str], ios: tuple[type, ...]
) -> HandlerFailed | None:
    """The same in any world that runs handlers; `ios` are the classes that it gives them as `io`."""
    steps = list(_steps(error))
    place = next((place for place, (frame, _) in enumerate(steps) if _process(frame) is not None), None)
    if place is None:
        return None
    frame = steps[place][0]
    words, hint = _words(error, type(_process(frame)).__name__, ios)
    return HandlerFailed(f"{_where(steps[place:])} raised {words} ({when(frame)})", hint=hint or DEBUG)


def blame_function(error: BaseException, function: Any, what: str) -> HandlerFailed:
    """The error of a function of the user's, called in the very frame that caught it."""
    steps = list(_steps(error))[1:]
    code = getattr(function, "__code__", None)
    if steps:
        where = f"{_where(steps)} raised "
    else:  # the call itself failed
        where = f"{_short(code.co_filename)}:{code.co_firstlineno}: {code.co_name}: " if code is not None else ""
    words, hint = _words(error, "", ())
    return HandlerFailed(f"{where}{words} ({what})", hint=hint or DEBUG)


def _where(steps: list[Step]) -> str:
    """File, line and name: the line is the innermost in the file of the first step."""
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
    """The process at work: its io says so, and without one (in `status`) it is looked for."""
    for value in frame.f_locals.values():
        if isinstance(value, Node | Recorder):
            return int(value.me)
    process = _process(frame)
    return next((node.me for node in nodes if node.process is process), None)


def _words(error: BaseException, algorithm: str, ios: tuple[type, ...]) -> tuple[str, str]:
    """The error in words, and the next thing to do where it can be told."""
    if isinstance(error, AttributeError) and error.name and isinstance(error.obj, ios):
        known = [name for name in vars(Io) if not name.startswith("_")]
        near = get_close_matches(error.name, known, n=1)
        hint = f"did you mean io.{near[0]}?" if near else f"io has {', '.join(known)}"
        return f"AttributeError: io has no {error.name!r}", hint
    # By its words: Python does not say on whom an assignment failed.
    missing = _NO_FIELD.fullmatch(str(error)) if isinstance(error, AttributeError) else None
    if missing and missing[1] == algorithm:
        return f"AttributeError: no field {missing[2]!r}", f"declare it in {algorithm}: `{missing[2]}: int = 0`, say"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__, ""


def _short(file: str) -> str:
    """The path as seen from here, if it is below."""
    try:
        near = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if near.startswith("..") else near
