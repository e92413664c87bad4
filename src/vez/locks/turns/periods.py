"""Periods: work that is done once a day, or once in another period, whoever does it.

A period is counted by the local clock: days begin at midnight, hours at the full hour. So two hosts that start a job at
03:00 mean the same day, although their clocks differ. The memo of the lock says which period is done, and when.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

from vez.errors import CorruptState, EngineUnavailable, Misuse, VezError
from vez.locks.engines.base import Request

if TYPE_CHECKING:
    from vez.locks.engines.base import Done

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DAY, _MONDAY = 86400, 3 * 86400  # 1970-01-01 was a Thursday
_MOST = 366 * _DAY
_LINES = 16
"""Largest number of different lengths of time for which a memo says what is done."""
_LINE = re.compile(r"every ([1-9][0-9]{0,8}) s: period ([0-9]{1,19}), done at ([0-9]{1,15})", re.ASCII)
_HINT = "30m, 1h, 12h, 1d or 1w, for example"


class Period:
    """A length of time, and the periods of that length that have been since 1970."""

    def __init__(self, text: str) -> None:
        number, unit = (text[:-1], text[-1:]) if isinstance(text, str) else ("", "")
        known = number.isascii() and number.isdigit() and len(number) < 20
        seconds = (int(number) if known else 0) * _UNITS.get(unit, 0)
        if not 0 < seconds <= _MOST:
            raise Misuse(f"a period is a number and one of s, m, h, d, w, at most 366 days, found {text!r}", hint=_HINT)
        if _DAY % seconds and seconds % _DAY:
            raise Misuse(f"a period divides a day, or is a number of days, found {text!r}", hint=_HINT)
        self.text, self.seconds = text, seconds

    def current(self) -> int:
        """The number of the present period."""
        return _current(self.seconds)

    def memo(self, number: int, before: str | None = None) -> str:
        """The memo that says that this period is done. Lines about other lengths of time stay."""
        others = [line for line in _lines(before) if line.seconds != self.seconds]
        return "\n".join(map(str, [Line(self.seconds, number, int(time.time())), *others[: _LINES - 1]]))

    def is_done(self, memo: str | None, number: int) -> bool:
        """True if the memo says that this period, or a later one, is done. A memo from the future, which a wrong clock
        has left, does not count: the work would not be done for years."""
        done = next((line.number for line in _lines(memo) if line.seconds == self.seconds), None)
        return done is not None and number <= done <= self.current() + 1


class Line(NamedTuple):
    """A line of a memo: a period that is done."""

    seconds: int
    number: int
    at: int
    """Seconds since the epoch."""

    def __str__(self) -> str:
        return f"every {self.seconds} s: period {self.number}, done at {self.at}"


def _lines(memo: str | None) -> list[Line]:
    """The lines that can be read."""
    found = map(_LINE.fullmatch, (memo or "").splitlines())
    return [Line(*map(int, line.groups())) for line in found if line is not None]


def _current(seconds: int) -> int:
    now = time.time()
    local = now + time.localtime(now).tm_gmtoff
    return int((local + _shift(seconds)) // seconds)


def _shift(seconds: int) -> int:
    return _MONDAY if seconds % _UNITS["w"] == 0 else 0


def _begin(seconds: int, number: int) -> float:
    """When the period with this number begins, in seconds since the epoch; infinite if that is beyond all calendars."""
    try:
        local = time.gmtime(number * seconds - _shift(seconds))
        return time.mktime((*local[:8], -1))
    except (OverflowError, ValueError, OSError):
        return float("inf")


def done_in(name: str, memo: str | None) -> tuple[Done, ...]:
    """What a memo says, for people. Raises `CorruptState` if it is not one of `every`."""
    from vez.locks.engines.base import Done

    lines = _lines(memo)
    if len(lines) < len((memo or "").splitlines()):
        raise CorruptState(f"the memo of {name!r} says nothing of a period: {memo!r:.60}",
                           hint="its job counts as not done; the next run replaces the memo")  # fmt: skip
    return tuple(
        Done(_text(line.seconds), line.at, _begin(line.seconds, line.number + 1),
             not _current(line.seconds) <= line.number <= _current(line.seconds) + 1)
        for line in lines
    )  # fmt: skip


def _text(seconds: int) -> str:
    unit = next(unit for unit, length in reversed(_UNITS.items()) if seconds % length == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def is_past(memo: str | None) -> bool:
    """True if there is a memo, and all its periods were over a whole period ago: then no host whose clock is less than
    that behind can do the work again because the memo is gone. What cannot be read is not past."""
    lines = _lines(memo)
    whole = memo is not None and len(lines) == len(memo.splitlines())
    return whole and all(line.number < _current(line.seconds) - 1 for line in lines)


def not_noted(name: str, error: VezError, *, ended: bool) -> EngineUnavailable:
    """The error for work whose memo cannot be written: before it begins, or when it has ended."""
    if ended:
        what, hint = f"the work of {name!r} is done, and could not be noted", "it may be done again in this period"
    else:
        what, hint = f"the work of {name!r} was not started, because it could not be noted as done", error.hint
    return EngineUnavailable(f"{what}: {error.message}", hint=hint)


def refuse_unless_exclusive(request: Request) -> None:
    """Raise `Misuse` for a lock that several may hold at once."""
    if request.shared or request.kind != "lock":
        raise Misuse("`every` needs a lock that one holds alone", hint="vez.lock('nightly').every('1d')")
