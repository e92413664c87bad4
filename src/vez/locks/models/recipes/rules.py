"""The rules by which the model judges who holds a name and who may be chosen.

They say the same as `inside` and `merit` of the recipes, and share no code with them: a mistake there must not judge
itself.
"""

from __future__ import annotations

from vez.locks.recipes.etcd.shown import Member, Shown


def _shown(one: Member) -> Shown:
    return one.shown if one.shown is not None else Shown()


def holders(kind: str, queue: tuple[Member, ...]) -> tuple[Member, ...]:
    """The requests that hold, of a queue that begins with the oldest."""
    if kind == "election":
        return tuple(one for one in queue[:1] if one.shown is None or _shown(one).inside)
    return entitled(kind, queue)


def entitled(kind: str, queue: tuple[Member, ...]) -> tuple[Member, ...]:
    """The requests that wait for nobody; in an election the first, whether or not it has noted that it leads."""
    if kind == "semaphore":
        return tuple(one for place, one in enumerate(queue) if place < _shown(queue[0]).limit)
    first_writer = [one for one in queue if not _shown(one).shared][:1]
    before = queue.index(first_writer[0]) if first_writer else len(queue)
    return queue[: max(before, 1)] if kind == "lock" else queue[:1]


def is_better(one: Member, other: Member) -> bool:
    """True if one candidate should lead before another: it is heavier, or as heavy and came earlier."""
    if _shown(one).weight != _shown(other).weight:
        return _shown(one).weight > _shown(other).weight
    came, others = (_shown(who).arrived or who.entry.create for who in (one, other))
    return came < others
