"""The short forms of faults and requests on the command line.

2@0+3          process 2, at 0 ms, for 3 ms        --want, --pause
3@7            process 3, at 7 ms                  --crash, --elect
3@7..15        … until 15 ms                       --crash (comes back), --suspect
2@0+3..5       … and stops waiting at 5 ms         --want
3@7..15:amnesia  … and comes back with nothing     --crash
3@7:after=2    … after 2 actions of a handler      --crash
1,2|3@5..20    groups, from 5 to 20 ms             --partition
1>2@5..20      a one-way channel                   --cut
1:3@5..9       process 1 wrongly suspects 3        --suspect
2=1.5          process 2's timers take 1.5 times   --drift
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from vez.errors import VezError
from vez.worlds.sim.delays import parse_delay
from vez.worlds.sim.scenario import Crash, Drift, Elect, Partition, Pause, Suspicion, Want

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # older releases of click have no generic ParamType at run time
    ParamType = click.ParamType

_NUMBER = r"(\d+(?:\.\d+)?)"
_WHOLE = r"-?\d{1,18}"
_ID = rf"({_WHOLE})"
_GROUP = rf"{_WHOLE}(?:,{_WHOLE})*"
_SHOWN = 60
"""Largest number of characters of a value in an error message."""


class Form(ParamType):
    """A parameter with a grammar of its own, an example for the error message, and a builder."""

    def __init__(self, name: str, pattern: str, example: str, build: Callable[..., Any]) -> None:
        self.name = name
        self._pattern = re.compile(pattern)
        self._example = example
        self._build = build

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = self._pattern.fullmatch(str(value).replace(" ", ""))
        if not found:
            self.fail(f"{_shown(value)} is not of the form {self._example}", param, ctx)
        try:
            return msgspec.convert(msgspec.to_builtins(built := self._build(*found.groups())), type(built))
        except msgspec.ValidationError as error:
            self.fail(f"{_shown(value)}: {error}", param, ctx)


class DelayForm(ParamType):
    """A distribution, checked at once."""

    name = "MS|DISTRIBUTION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return str(parse_delay(value))
        except VezError as error:
            self.fail(str(error), param, ctx)


class Ids(ParamType):
    """A list of identifiers, `17,24,1,28`."""

    name = "ID,ID,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            return tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{_shown(value)} is not a list of whole numbers like 17,24,1,28", param, ctx)


class Edges(ParamType):
    """A list of edges, `1-2,2-3`."""

    name = "A-B,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[int, int], ...]:
        try:
            pairs = [tuple(int(end) for end in part.split("-")) for part in str(value).split(",")]
            return tuple((one, other) for one, other in pairs)
        except ValueError:
            self.fail(f"{_shown(value)} is not a list of edges like 1-2,2-3", param, ctx)


class Assignment(ParamType):
    """A parameter of the algorithm, `lease_ms=5`."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        name, equals, text = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{_shown(value)} is not of the form lease_ms=5", param, ctx)
        try:
            return name, msgspec.json.decode(text.encode(errors="surrogateescape"))
        except msgspec.DecodeError:
            return name, text
        except RecursionError:
            self.fail(f"{_shown(value)} is nested too deeply", param, ctx)


def _shown(value: object) -> str:
    """A value for an error message: quoted, and not longer than a line."""
    text = str(value)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _crash(process: str, at: str, after: str | None, until: str | None, amnesia: str | None) -> Crash:
    return Crash(
        process=int(process),
        at_ms=float(at),
        recover_ms=_number(until),
        memory=amnesia is None,
        after_actions=None if after is None else int(after),
    )


def _partition(groups: str, at: str | None, until: str | None) -> Partition:
    members = tuple(tuple(int(process) for process in group.split(",")) for group in groups.split("|"))
    return Partition(at_ms=float(at or 0), until_ms=_number(until), groups=members)


def _cut(one: str, other: str, at: str | None, until: str | None) -> Partition:
    return Partition(at_ms=float(at or 0), until_ms=_number(until), one_way=((int(one), int(other)),))


def _suspicion(one: str, peer: str, at: str | None, until: str | None) -> Suspicion:
    return Suspicion(process=int(one), peer=int(peer), at_ms=float(at or 0), until_ms=_number(until))


_WHEN = rf"(?:@{_NUMBER}(?:\.\.{_NUMBER})?)?"
DELAY = DelayForm()
IDS = Ids()
EDGES = Edges()
ASSIGNMENT = Assignment()
CRASH = Form(
    "P@MS[..MS]", rf"{_ID}@{_NUMBER}(?::after=(\d+))?(?:\.\.{_NUMBER}(:amnesia)?)?",
    "3@7, 3@7..15, 3@7..15:amnesia or 3@7:after=2..15", _crash,
)  # fmt: skip
PAUSE = Form(
    "P@MS+MS", rf"{_ID}@{_NUMBER}\+{_NUMBER}", "2@5+10",
    lambda process, at, length: Pause(process=int(process), at_ms=float(at), for_ms=float(length)),
)  # fmt: skip
WANT = Form(
    "P@MS[+MS][..MS]", rf"{_ID}(?:@{_NUMBER}(?:\+{_NUMBER})?(?:\.\.{_NUMBER})?)?", "2@0, 2@0+3 or 2@0+3..5",
    lambda process, at, length, until: Want(
        process=int(process), at_ms=float(at or 0), inside_ms=float(length or 2), withdraw_ms=_number(until)
    ),
)  # fmt: skip
ELECT = Form(
    "P[@MS]", rf"{_ID}(?:@{_NUMBER})?", "2 or 2@5",
    lambda process, at: Elect(process=int(process), at_ms=float(at or 0)),
)  # fmt: skip
PARTITION = Form("A,B|C@MS..MS", rf"({_GROUP}(?:\|{_GROUP})*){_WHEN}", "1,2|3@5..20", _partition)
CUT = Form("A>B@MS..MS", rf"{_ID}>{_ID}{_WHEN}", "1>2@5..20", _cut)
SUSPECT = Form("A:B@MS..MS", rf"{_ID}:{_ID}{_WHEN}", "1:3@5..9", _suspicion)
DRIFT = Form(
    "P=RATE", rf"{_ID}={_NUMBER}", "2=1.5",
    lambda process, rate: Drift(process=int(process), rate=float(rate)),
)  # fmt: skip
