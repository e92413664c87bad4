"""Scenario: everything that determines a run, as a value and as a TOML file.

The Python API takes a `Scenario`, and a scenario file holds the same fields, so both can do the same. Times are
milliseconds of virtual time. A message takes 1 ms by default, so that a millisecond is a "message time" of the papers.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, dataclass_transform

import msgspec
import tomli_w
from msgspec import Meta

from vez.core.assumptions import Property
from vez.core.detectors import MONITORS, Settings
from vez.errors import BadData, MissingFile, Misuse, UnknownName
from vez.worlds.sim.delays import MAX_MS

MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_PROCESSES = 10_000_000
DEFAULT_DELAY = "constant(1)"

DETECTORS = ("perfect", "none", *MONITORS)

MAX_WHOLE = 2**53
"""The largest identifier or seed: every JSON reader keeps such numbers exactly."""

Ms = Annotated[float, Meta(ge=0, le=MAX_MS)]
Whole = Annotated[int, Meta(ge=-MAX_WHOLE, le=MAX_WHOLE)]
Chance = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=1_000_000)]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Network(_Part):
    """The delays, losses and duplicates of messages."""

    delay: str | float | None = None
    """None means `DEFAULT_DELAY`; a sweep sets a random delay instead."""
    fifo: bool | None = None
    """None means FIFO if the algorithm assumes it."""
    loss: Chance = 0.0
    duplicate: Chance = 0.0
    reorder: Chance = 0.0
    """Probability that a message takes up to three message times longer, so that others overtake it."""


class Detector(_Part, Settings):
    """The failure detector under the algorithm. All except `perfect` and `none` use heartbeats."""

    kind: Literal["perfect", "none", "heartbeat", "adaptive", "phi"] = "perfect"
    delay_ms: Ms = 2.0
    """`perfect`: time from a crash or a recovery until it is reported to all processes."""

    @property
    def settings(self) -> Settings:
        """The settings of the monitors."""
        return Settings(**{name: getattr(self, name) for name in Settings.__struct_fields__})


class Workload(_Part):
    """Random requests, used if no `want` is listed."""

    requests: Count = 2
    think_ms: str | float = "uniform(0, 20)"
    inside_ms: str | float = "uniform(1, 3)"
    wait_ms: str | float | None = None
    """The time after which a waiting process withdraws; None if it never withdraws."""


class Want(_Part):
    """A request: the process wants in at this time, or as soon as its previous stay is over."""

    process: Whole
    at_ms: Ms = 0.0
    inside_ms: Ms = 2.0
    withdraw_ms: Ms | None = None
    """The time at which the process stops waiting, if it is not inside by then."""
    linger_ms: Ms = 0.0
    """The time that a process takes to leave if it enters after it withdrew; 0 if it leaves at once."""


class Elect(_Part):
    """A process is asked to start an election."""

    process: Whole
    at_ms: Ms = 0.0


class Crash(_Part):
    """A process crashes. It may recover, with its durable fields (`memory`) or without."""

    process: Whole
    at_ms: Ms = 0.0
    recover_ms: Ms | None = None
    memory: bool = True
    after_actions: Count | None = None
    """Crash inside the first handler, from `at_ms` on, that has more actions than this number; crash after this number
    of actions.

    Actions are sends, entries, elections and writes of durable fields, in the order of the program.
    """


class Pause(_Part):
    """A process does nothing for a while. It is slow, but has not crashed."""

    process: Whole
    at_ms: Ms
    for_ms: Ms


class Partition(_Part):
    """Channels that lose every message: those between groups, or the listed one-way channels."""

    at_ms: Ms = 0.0
    until_ms: Ms | None = None
    groups: tuple[tuple[Whole, ...], ...] = ()
    one_way: tuple[tuple[Whole, Whole], ...] = ()

    def channels(self, ids: Iterable[int]) -> list[tuple[int, int]]:
        """The one-way channels that the partition cuts. Processes that are in no group form one more group."""
        found = list(self.one_way)
        if self.groups:
            group = {process: number for number, members in enumerate(self.groups) for process in members}
            every = sorted(ids)
            found += [
                (one, other) for one in every for other in every if one != other and group.get(one) != group.get(other)
            ]
        return found


class Drift(_Part):
    """A process with a wrong clock: its timers take `rate` times as long."""

    process: Whole
    rate: Annotated[float, Meta(gt=0, le=1000)]


class Suspicion(_Part):
    """A mistake of the detector: it reports a live peer as dead, until `until_ms` if given."""

    process: Whole
    peer: Whole
    at_ms: Ms = 0.0
    until_ms: Ms | None = None


class Fate(_Part):
    """The fate of message number `number` from one process to another. Replaces the random choice."""

    sender: Whole
    to: Whole
    number: Annotated[int, Meta(ge=1, le=MAX_WHOLE)]
    delay_ms: Ms | None = None
    lost: bool = False
    copies: tuple[Ms, ...] = ()
    """Delays of further copies."""


class Choice(_Part):
    """The result of call number `number` of `io.choose` in a process. Replaces the random choice."""

    process: Whole
    number: Annotated[int, Meta(ge=1, le=MAX_WHOLE)]
    index: Count


class Timer(_Part):
    """The duration of timer number `number` that a process sets. Replaces the duration in the call."""

    process: int
    number: Annotated[int, Meta(ge=1)]
    after_ms: Ms


class Nemesis(_Part):
    """Random faults, drawn from the seed."""

    crashes: Count = 0
    recoveries: Count = 0
    """The number of crashed processes that recover."""
    memory: bool = True
    pauses: Count = 0
    partitions: Count = 0
    within_ms: Ms | None = None
    """The faults happen within this time. None means the time in which the run without them is active."""


class Expect(_Part):
    """The expected result. `vez sim` compares it with the result of the run."""

    broken: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    leader: int | None = None


class Scenario(_Part):
    """Everything that determines a run."""

    algorithm: str
    title: str = ""
    n: Annotated[int, Meta(ge=1, le=MAX_PROCESSES)] | None = None
    ids: tuple[Whole, ...] = ()
    topology: str | None = None
    edges: tuple[tuple[Whole, Whole], ...] = ()
    seed: Whole = 0
    until_ms: Ms = 1000.0
    max_events: Annotated[int, Meta(ge=1, le=MAX_WHOLE)] = 1_000_000
    patience_ms: Ms | None = None
    """Age from which an unserved request counts as starving if a limit ends the run. None means 100 message times."""
    loop_ms: tuple[Ms, Ms] | None = None
    """Start and end of the part that would repeat for ever. Pictures draw it once. If the run ends with two or more
    equal laps, the judges treat it as endless."""
    parameters: dict[str, Any] = {}
    names: dict[str, Annotated[str, Meta(max_length=40)]] = {}
    """The names of processes in pictures: `[names]` with `4 = "Part1"`."""
    initial: dict[str, dict[str, Any]] = {}
    """Initial fields of single processes: `[initial.1]` with `clock = 40`."""
    network: Network = Network()
    detector: Detector = Detector()
    workload: Workload | None = None
    want: tuple[Want, ...] = ()
    elect: tuple[Elect, ...] = ()
    crash: tuple[Crash, ...] = ()
    pause: tuple[Pause, ...] = ()
    partition: tuple[Partition, ...] = ()
    drift: tuple[Drift, ...] = ()
    suspect: tuple[Suspicion, ...] = ()
    message: tuple[Fate, ...] = ()
    choice: tuple[Choice, ...] = ()
    timer: tuple[Timer, ...] = ()
    nemesis: Nemesis = Nemesis()
    expect: Expect = Expect()

    def but(self, **changes: Any) -> Scenario:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)


def checked(scenario: Scenario) -> Scenario:
    """The scenario, after the checks that a scenario file gets."""
    try:
        return msgspec.convert(msgspec.to_builtins(scenario, str_keys=True), Scenario)
    except msgspec.ValidationError as error:
        raise Misuse(_words(error), hint="read `vez docs scenarios`") from error
    except RecursionError:
        raise Misuse("a parameter is nested too deeply", hint="parameters are numbers, texts and short lists") from None


def _words(error: msgspec.ValidationError) -> str:
    """The error text, with the path `$.n` written as `n`."""
    found = str(error).replace("`", "").replace("int <= ", "a whole number of at most ")
    what, at, path = found.replace("int >= ", "a whole number of at least ").rpartition(" - at $.")
    return f"{path}: {what[0].lower()}{what[1:]}" if at else str(error)


def loads(text: str, where: str = "scenario") -> Scenario:
    """Parse a scenario from TOML. Every field is checked, and unknown fields are refused."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadData(f"{where} is not TOML: {error}") from error
    except RecursionError:
        raise BadData(f"{where} is nested too deeply") from None
    except ValueError as error:  # a number with more digits than Python accepts
        raise BadData(f"{where} is not TOML: {str(error).partition(';')[0]}") from error
    try:
        scenario = msgspec.convert(raw, Scenario)
    except msgspec.ValidationError as error:
        raise BadData(f"{where}: {error}", hint="read `vez docs scenarios`") from error
    for name in (*scenario.expect.broken, *scenario.expect.holds):
        if name not in set(Property):
            raise UnknownName("property", name, list(Property))
    return scenario


def load(path: Path) -> Scenario:
    """Read a scenario file."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadData(f"{path} is larger than {MAX_FILE_BYTES >> 20} MiB, too large for a scenario")
        text = path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8 text: {error.reason}") from error
    scenario = loads(text, str(path))
    return scenario.but(algorithm=_moved(scenario.algorithm, path.parent, Path()))


def beside(scenario: Scenario, path: Path) -> Scenario:
    """The scenario as it is written to a file: the path of its algorithm becomes relative to the file."""
    return scenario.but(algorithm=_moved(scenario.algorithm, Path(), path.parent))


def _moved(algorithm: str, start: Path, target: Path) -> str:
    """`path/to/file.py:Class` relative to another folder, if the file exists. Other names stay as they are."""
    file, colon, name = algorithm.partition(":")
    if not file.endswith(".py") or Path(file).is_absolute() or not (start / file).is_file():
        return algorithm
    return f"{os.path.relpath((start / file).resolve(), target.resolve())}{colon}{name}"


def dumps(scenario: Scenario, comment: str = "") -> str:
    """Write a scenario as TOML, with a comment above it."""
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    values = msgspec.to_builtins(scenario, str_keys=True)
    return head + tomli_w.dumps({key: value for key, value in values.items() if value != {}})
