"""Stays: the times at which workers were inside each name, for every kind of lock. Each name is judged separately.

A sweep over the stays of a name checks that never more workers are inside than its kind allows. It also checks the
tokens: a request that was made after another had entered has the higher token, no token is issued twice, and the writes
follow the order of the tokens. A kill ends a stay, and so does a break, at the latest moment at which it was surely
held.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

import msgspec

from vez.judge.properties.verdict import Verdict, broken, holds
from vez.judge.words import Sentence, said
from vez.locks.engines.base import Kind
from vez.testing.torture.history import Fault
from vez.testing.torture.record import Line

KindName = Literal["lock", "read-write", "semaphore", "election"]
KINDS: tuple[KindName, ...] = get_args(KindName)
_NEVER = 1 << 62


class Target(NamedTuple):
    """One of the names that the workers use."""

    suffix: str
    kind: KindName
    limit: int = 1

    def name(self, base: str) -> str:
        """The whole name."""
        return f"{base}-{self.suffix}" if self.suffix else base

    @property
    def engine_kind(self) -> Kind:
        """The kind as engines name it."""
        return self.kind if self.kind in ("semaphore", "election") else "lock"


FRESH = "fresh"
_FRESH_NAMES = 4


def targets(kinds: Iterable[str], *, fresh: bool = False) -> tuple[Target, ...]:
    """The names of a campaign: two locks if there are other kinds too, one of each other kind, and with `fresh` some
    seldom used locks, so that their files are opened and created repeatedly."""
    chosen = tuple(kind for kind in KINDS if kind in set(kinds))
    found = [Target("", "lock")] if "lock" in chosen else []
    if len(chosen) > 1 and found:
        found.append(Target("second", "lock"))
    found += [Target(kind, kind, 2 if kind == "semaphore" else 1) for kind in chosen if kind != "lock"]
    found += [Target(f"{FRESH}-{number}", "lock") for number in range(_FRESH_NAMES) if fresh]
    return tuple(found)


def target_of(suffix: str) -> Target:
    """The target whose name has this suffix."""
    return next(target for target in targets(KINDS, fresh=True) if target.suffix == suffix)


class Broken(NamedTuple):
    """A forced release: its begin, its end, and the tokens that it took."""

    at: int
    done: int
    suffix: str
    tokens: tuple[int, ...]
    recorded: bool = True
    """True if the engine showed a record of it afterwards."""


class Stay(msgspec.Struct):
    """One stay of one worker, from `entered` until it was surely over."""

    worker: int
    token: int
    shared: bool
    begin: int
    above: int
    """The highest token that had entered when this request was made."""
    end: int = _NEVER
    value: int | None = None
    """The number that it wrote, if the write was accepted."""
    left: int = 0
    """Time at which it recorded that it left; 0 if it was killed before."""
    told: bool = False
    """True if it was told that it had lost its lock."""
    following: int = _NEVER
    """Time of the next line of its worker."""


def stays(lines: list[Line], faults: list[Fault], breaks: list[Broken]) -> list[Stay]:
    """The stays of one name, in the order in which they began."""
    found: list[Stay] = []
    open_: dict[int, Stay] = {}
    asked: dict[int, int] = {}
    highest = 0
    for line in lines:
        current = open_.get(line.worker)
        if current is not None and current.left:
            current.following = min(current.following, line.at)
        if line.what == "wanted":
            asked[line.worker] = highest
        elif line.what == "entered":
            stay = Stay(line.worker, line.token, line.shared, line.at, asked.get(line.worker, 0))
            found.append(stay)
            open_[line.worker] = stay
            highest = max(highest, line.token)
        elif current is None:
            continue
        elif line.what == "wrote" and line.accepted:
            current.value = line.value
        elif line.what == "left":
            current.end = current.left = line.at
        elif line.what == "lost":
            current.told = True
    _end_by_kills(found, faults, lines)
    taken = {token: one.at for one in breaks for token in one.tokens}
    for stay in found:
        stay.end = min(stay.end, max(stay.begin, taken.get(stay.token, _NEVER)))
    return found


def _end_by_kills(found: list[Stay], faults: list[Fault], lines: list[Line]) -> None:
    kills: dict[int, list[Fault]] = {}
    for fault in faults:
        if fault.kind == "kill":
            kills.setdefault(fault.worker, []).append(fault)
    written = {(line.worker, line.token): line.at for line in lines if line.token}
    for stay in found:
        if not stay.left:
            death = next((kill.at for kill in kills.get(stay.worker, ()) if kill.done > stay.begin), _NEVER)
            stay.end = max(death, written[stay.worker, stay.token])


def judge(target: Target, lines: list[Line], faults: list[Fault], breaks: list[Broken], start: int) -> Verdict:
    """The verdict on one name."""
    found = stays(lines, faults, breaks)
    name = _name(target)
    wrong = (
        _crowded(target, found, start)
        or _disordered(found, start)
        or _overwritten(found, start)
        or _believed(lines, start)
        or _not_told(found, faults, breaks, start)
        or _told_for_nothing(found, breaks, start)
        or _not_recorded(breaks, start)
        or _not_on_disk(lines, start)
    )
    if wrong is not None:
        return broken(name, wrong)
    return holds(name, said("stays_sound", count=len(found), limit=target.limit))


def _name(target: Target) -> str:
    if target.suffix.startswith(FRESH):
        return target.suffix.replace("-", "_")
    return target.kind.replace("-", "_") + ("_2" if target.suffix == "second" else "")


def _crowded(target: Target, found: list[Stay], start: int) -> Sentence | None:
    """More workers inside than allowed; None if there never were."""
    inside: list[Stay] = []
    for stay in found:
        inside = [other for other in inside if other.end > stay.begin]
        others = inside
        if target.kind == "read-write" and stay.shared:
            others = [other for other in inside if not other.shared]
        if len(others) >= target.limit:
            workers = ", ".join(str(other.worker) for other in others)
            return said("too_many_inside", worker=stay.worker, at=_ms(stay.begin, start), others=workers)
        inside.append(stay)
    return None


def _disordered(found: list[Stay], start: int) -> Sentence | None:
    """A token that was issued twice, or that is below one that had entered before its request was made."""
    seen: set[int] = set()
    for stay in found:
        if stay.token in seen or stay.token <= stay.above:
            before = stay.token if stay.token in seen else stay.above
            return said("token_not_higher", worker=stay.worker, at=_ms(stay.begin, start), token=stay.token,
                        before=before)  # fmt: skip
        seen.add(stay.token)
    return None


def _overwritten(found: list[Stay], start: int) -> Sentence | None:
    """A write that is not one above the write before it, in the order of the tokens. A killed worker may have written
    without recording it."""
    value = silent = 0
    for stay in sorted(found, key=lambda stay: stay.token):
        if stay.value is None:
            silent += not stay.left
        elif not value < stay.value <= value + 1 + silent:
            return said("update_lost", worker=stay.worker, value=stay.value, at=_ms(stay.begin, start), before=value)
        else:
            value, silent = stay.value, 0
    return None


def _believed(lines: list[Line], start: int) -> Sentence | None:
    """A forked child that believed that it held its parent's lock."""
    for line in lines:
        if line.what == "believer":
            return said("believer", worker=line.worker, at=_ms(line.at, start))
    return None


def _not_told(found: list[Stay], faults: list[Fault], breaks: list[Broken], start: int) -> Sentence | None:
    """A holder that left after a break of its lock, and was not told of it. It may have been killed before."""
    taken = {token: one for one in breaks for token in one.tokens}
    for stay in found:
        one = taken.get(stay.token)
        if one is None or stay.told or stay.left <= one.done:
            continue
        if not any(f.kind == "kill" and f.worker == stay.worker and stay.left < f.done and f.at < stay.following
                   for f in faults):  # fmt: skip
            return said("not_told", worker=stay.worker, at=_ms(stay.begin, start), token=stay.token)
    return None


def _told_for_nothing(found: list[Stay], breaks: list[Broken], start: int) -> Sentence | None:
    """A holder that was told of a loss, and no break of its token is recorded."""
    taken = {token for one in breaks for token in one.tokens}
    for stay in found:
        if stay.told and stay.token not in taken:
            return said("told_for_nothing", worker=stay.worker, at=_ms(stay.begin, start), token=stay.token)
    return None


def _not_recorded(breaks: list[Broken], start: int) -> Sentence | None:
    """A break of which the engine has no record."""
    for one in breaks:
        if not one.recorded:
            return said("not_recorded", at=_ms(one.at, start), token=one.tokens[0])
    return None


def _not_on_disk(lines: list[Line], start: int) -> Sentence | None:
    """A token of a range that was not on disk when it was issued: after a power loss it could be issued again. Without
    a recorded sync, nothing is known."""
    bound: int | None = None
    for line in lines:
        if line.what == "synced":
            bound = line.token if bound is None else max(bound, line.token)
        elif line.what == "entered" and bound is not None and line.token >= bound:
            return said("not_on_disk", worker=line.worker, at=_ms(line.at, start), token=line.token, bound=bound)
    return None


def _ms(at: int, start: int) -> str:
    return f"{(at - start) / 1e6:.3f}"
