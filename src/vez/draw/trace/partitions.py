"""Partitions: the channels that are cut or healed at one moment, as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from vez.core.trace import Cut, Healed, Trace
from vez.judge.words.sentence import Sentence, Teller, said

MOST = 8
"""The largest number of channels that are named one by one."""


class Partition(msgspec.Struct, frozen=True):
    """Channels that were cut, or healed, at one moment."""

    at: int
    index: int
    last_index: int
    cut: bool
    words: str


def partitions_of(trace: Trace, teller: Teller) -> tuple[Partition, ...]:
    """The partitions of a trace. Adjacent Cut (or Healed) events of one moment are one partition (or its end)."""
    found: list[Partition] = []
    cuts: set[tuple[int, int]] = set()
    group: list[tuple[int, Cut | Healed]] = []

    def close() -> None:
        if group:
            first, last = group[0], group[-1]
            cut = isinstance(first[1], Cut)
            channels = [(event.process, event.to) for _, event in group]
            words = _cut(trace.header.ids, cuts, channels, teller) if cut else _healed(cuts, channels, teller)
            found.append(Partition(first[1].at, first[0], last[0], cut, teller.tell(words)))
            group.clear()

    for index, event in enumerate(trace.events):
        if group and (type(event) is not type(group[-1][1]) or event.at != group[-1][1].at):
            close()
        if isinstance(event, Cut | Healed):
            group.append((index, event))
            (cuts.add if isinstance(event, Cut) else cuts.discard)((event.process, event.to))
    close()
    return tuple(found)


def _cut(ids: Sequence[int], cuts: set[tuple[int, int]], new: Iterable[tuple[int, int]], teller: Teller) -> Sentence:
    """The partition as text: `1 2 | 3 4 5` if the cuts separate whole groups, otherwise the single channels."""
    groups: dict[int, list[int]] = {}
    reach: dict[int, set[int]] = defaultdict(set)
    if len(ids) <= 64 and all((to, sender) in cuts for sender, to in cuts):
        for process in ids:
            reach[process] = {other for other in ids if other == process or (process, other) not in cuts}
            groups.setdefault(min(reach[process]), []).append(process)
        if len(groups) > 1 and all(reach[process] == set(group) for group in groups.values() for process in group):
            sides = " | ".join(" ".join(map(teller.named, group)) for group in groups.values())
            return said("drawn_partition", groups=sides)
    return said("drawn_cut", channels=_channels(new, teller))


def _healed(cuts: set[tuple[int, int]], channels: Sequence[tuple[int, int]], teller: Teller) -> Sentence:
    return said("drawn_healed", channels=_channels(channels, teller)) if cuts else said("drawn_all_healed")


def _channels(channels: Iterable[tuple[int, int]], teller: Teller) -> str | Sentence:
    names = [f"{teller.named(sender)}→{teller.named(to)}" for sender, to in channels]
    shown = ", ".join(names[:MOST])
    return said("drawn_more_channels", channels=shown, count=len(names) - MOST) if len(names) > MOST else shown
