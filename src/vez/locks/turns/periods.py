"""Periods: work that is done once a day, or once in another period, whoever does it.

A period is counted by the local clock: days begin at midnight, hours at the full hour. So two hosts that start a job at
03:00 mean the same day, although their clocks differ. The memo of the lock says which period is done.
"""

from __future__ import annotations

import time

from vez.errors import Misuse
from vez.locks.engines.base import Request

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DAY, _MONDAY = 86400, 3 * 86400  # 1970-01-01 was a Thursday
_MOST = 366 * _DAY
_LINES = 16
"""Largest number of different lengths of time for which a memo says what is done."""
_HINT = "30m, 1h, 12h, 1d or 1w, for example"


class Period:
    """A length of time, and the periods of that length that have been since 1970."""

    def __init__(self, text: str) -> None:
        number, unit = (text[:-1], text[-1:]) if isinstance(text, str) else ("", "")
        seconds = (_number(number) or 0) * _UNITS.get(unit, 0)
        if not 0 < seconds <= _MOST:
            raise Misuse(f"a period is a number and one of s, m, h, d, w, at most 366 days, found {text!r}", hint=_HINT)
        if _DAY % seconds and seconds % _DAY:
            raise Misuse(f"a period divides a day, or is a number of days, found {text!r}", hint=_HINT)
        self.text, self.seconds = text, seconds
        self._start = f"every {seconds} s: "

    def current(self) -> int:
        """The number of the present period."""
        now = time.time()
        local = now + time.localtime(now).tm_gmtoff
        return int((local + (_MONDAY if self.seconds % _UNITS["w"] == 0 else 0)) // self.seconds)

    def memo(self, number: int, before: str | None = None) -> str:
        """The memo that says that this period is done. Lines about other lengths of time stay."""
        others = [line for line in (before or "").splitlines() if not line.startswith(self._start)]
        return "\n".join([f"{self._start}{number}", *others[: _LINES - 1]])

    def is_done(self, memo: str | None, number: int) -> bool:
        """True if the memo says that this period, or a later one, is done. A memo from the future, which a wrong clock
        has left, does not count: the work would not be done for years."""
        lines = [line for line in (memo or "").splitlines() if line.startswith(self._start)]
        done = _number(lines[0].removeprefix(self._start)) if lines else None
        return done is not None and number <= done <= self.current() + 1


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def refuse_unless_exclusive(request: Request) -> None:
    """Raise `Misuse` for a lock that several may hold at once."""
    if request.shared or request.kind != "lock":
        raise Misuse("`every` needs a lock that one holds alone", hint="vez.lock('nightly').every('1d')")
