"""Play a recipe against the model of a server, step by step, with at most one fault; write down what it did.

A story is a recipe, the store that it finds, and what others do while it waits. It is played once without a fault, and
once for each step and each fault of that step. The steps of a story have letters, so that each run is a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import ascii_letters
from typing import Any, NamedTuple

import msgspec

from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import (
    Call,
    Changed,
    Elapsed,
    Lost,
    Proved,
    Recipe,
    Refused,
    Unknown,
    Unwatched,
    Wait,
    Withdrawn,
)
from vez.locks.recipes.etcd.operations import Compare, Delete, Get, KeepAlive, LeaseGrant, Put, Revoke, Txn

Happening = Callable[[Store], Store]
"""What others do to the store while a recipe waits."""
CALLS = ("lost", "dropped", "refused", "withdrawn", "withdrawn, late")
"""Faults of a call: the reply is lost, or the request; it is refused; the recipe is withdrawn, and the request never
arrives, or arrives at the end."""
WAITS = ("elapsed", "unwatched", "withdrawn")
MOST = 12
"""Steps after which a run is cut."""
LONG = 10
"""Seconds of a wait that ends the story if nothing happens any more."""


class _Waits(Exception):
    """The recipe waits for somebody, and nobody does anything any more."""


class Story(NamedTuple):
    """A recipe, the store that it finds, and what happens in each of its waits that watch."""

    name: str
    make: Callable[[], Recipe[Any]]
    store: Store
    happenings: tuple[Happening | None, ...] = ()
    """None: nothing happens in the wait until its time is over."""
    busy: tuple[tuple[int, Happening], ...] = ()
    """What others do just before the call with this number."""
    faults: tuple[tuple[int, str], ...] = ()
    """Faults of every run, by the number of the step; a run has at most one more."""


class Run(NamedTuple):
    """What a recipe did: its steps, its end, and the keys that it left."""

    steps: tuple[str, ...]
    end: str
    keys: str


class Player:
    """Plays a story once. `fate` is the fault of the step with the number `at`, from 1."""

    def __init__(self, story: Story, at: int = 0, fate: str = "") -> None:
        self.store, self.happenings, self.busy = story.store, list(story.happenings), dict(story.busy)
        self.recipe, self.faults = story.make(), {**dict(story.faults), at: fate}
        self.steps: list[str] = []
        self.kinds: list[str] = []
        self.calls, self.late = 0, list[Any]()

    def play(self) -> Run:
        """Go through the whole story."""
        try:
            step = next(self.recipe)
            while len(self.steps) < MOST:
                self.steps.append(words(step))
                self.kinds.append("call" if isinstance(step, Call) else "watch" if _watches(step) else "")
                fate = self.faults.get(len(self.steps), "")
                if fate.startswith("withdrawn"):
                    self.late += [step.request] if isinstance(step, Call) and fate.endswith("late") else []
                    step = self.recipe.throw(Withdrawn())
                else:
                    step = self.recipe.send(self.reply(step, fate))
            end = "…"
        except _Waits:
            end = "waits"
        except StopIteration as ended:
            end = f"→ {shown(ended.value)}"
        except Exception as error:
            end = f"! {type(error).__name__}{error.args or ''}"
        for request in self.late:
            self.store, _ = self.store.execute(request)
        keys = " ".join(f"{entry.key}={entry.create}/{entry.mod}" for entry in self.store.entries)
        return Run(tuple(self.steps), end, keys)

    def reply(self, step: object, fate: str) -> object:
        """What the recipe is sent."""
        if isinstance(step, Call):
            return self.call(step.request, fate)
        if not isinstance(step, Wait):
            return None
        if fate:
            return Elapsed() if fate == "elapsed" else Unwatched()
        return self.wait(step)

    def call(self, request: Any, fate: str) -> object:
        self.calls += 1
        if busy := self.busy.get(self.calls):
            self.store = busy(self.store)
        if fate in ("refused", "dropped"):
            return Refused("refused") if fate == "refused" else Unknown()
        self.store, reply = self.store.execute(request)
        return Unknown() if fate == "lost" else reply

    def wait(self, step: Wait) -> object:
        if step.watch is None:
            return Elapsed()
        if events := self.store.events(step.watch):
            return Changed(events)
        while self.happenings:
            happening = self.happenings.pop(0)
            if happening is None:
                return Elapsed()
            before, self.store = self.store, happening(self.store)
            if events := self.store.changes(before, step.watch):
                return Changed(events)
        if step.seconds is not None and step.seconds < LONG:
            return Elapsed()
        raise _Waits


def _watches(step: object) -> bool:
    return isinstance(step, Wait) and step.watch is not None


def runs(story: Story) -> Iterator[tuple[str, Run]]:
    """The run without a fault, and one for each fault of each of its steps."""
    player = Player(story)
    always = ", ".join(f"{number} {fate}" for number, fate in story.faults)
    yield always or "nothing goes wrong", player.play()
    for number, kind in enumerate(player.kinds, 1):
        if number in dict(story.faults):
            continue
        for fate in CALLS if kind == "call" else WAITS if kind == "watch" else ():
            yield f"{number} {fate}", Player(story, number, fate).play()


def told(story: Story) -> str:
    """The story as text: its steps with their letters, and a line for each run."""
    found = list(runs(story))
    letters: dict[str, str] = {}
    for _, run in found:
        for step in run.steps:
            letters.setdefault(step, ascii_letters[len(letters)])
    lines = [f"## {story.name}", "", *(f"{letter}  {step}" for step, letter in letters.items()), ""]
    for title, run in found:
        lines.append(f"{title:20} {' '.join(letters[step] for step in run.steps)} {run.end} | {run.keys}".rstrip())
    return "\n".join(lines) + "\n"


def shown(value: object) -> str:
    """A result, without the values of keys."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, msgspec.Struct):
        fields = ", ".join(shown(getattr(value, name)) for name in value.__struct_fields__)
        return f"{type(value).__name__}({fields})"
    return repr(value)


def words(step: object) -> str:
    """A step of a recipe, with everything that it says."""
    match step:
        case Call(Txn(conditions, then, otherwise)):
            if_ = " and ".join(f"{one.key} {one.attribute}={one.equals}" for one in conditions)
            parts = [", ".join(map(_operation, then)), ", ".join(map(_operation, otherwise))]
            return f"{f'if {if_}: ' if if_ else ''}{parts[0]}{f'; else {parts[1]}' if parts[1] else ''}"
        case Call(LeaseGrant(lease, seconds)):
            return f"grant {lease:x} for {seconds}"
        case Call(KeepAlive(lease)):
            return f"renew {lease:x}"
        case Call(Revoke(lease)):
            return f"revoke {lease:x}"
        case Wait(None, seconds):
            return f"wait {seconds} s"
        case Wait(watch, seconds):
            late = f", late by {watch.late}" if watch.late else ""
            return f"watch {watch.key}{f'..{watch.end}' if watch.end else ''} from {watch.start}{late}, for {seconds} s"
        case Proved(seconds):
            return f"proved for {seconds} s"
        case Lost(key, why, token):
            return f"lost {key} of {token}: {why}"
    raise AssertionError(step)


def _operation(one: Put | Delete | Get | Compare) -> str:
    match one:
        case Put(key, value, lease):
            return f"put {key} {value!r} for {lease:x}"
        case Delete(key, end):
            return f"delete {key}{f'..{end}' if end else ''}"
        case Get(key, end, order, limit, below):
            parts = (f"..{end}" if end else "", f" {order}" if order else "", f" at most {limit}" if limit else "")
            return f"get {key}{''.join(parts)}{f' created before {below}' if below else ''}"
    raise AssertionError(one)
