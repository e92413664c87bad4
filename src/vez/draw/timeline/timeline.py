"""Timeline: lanes with bars and instants, as a value. Times are microseconds."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["runs", "works", "waits", "holds", "sleeps", "does", "says", "planned"]
LASTING: tuple[Kind, ...] = ("runs", "works", "holds", "sleeps", "waits")
"""Kinds with a duration, in the order in which they are drawn: later ones are on top."""
MOST_LANES = 250
MOST_BARS = 4000
"""The largest number of bars in a picture: a larger one is hard to read and slow to open."""


class Bar(msgspec.Struct, frozen=True):
    """An action of a thread, with its description. It is an instant if start and end are equal."""

    lane: str
    kind: Kind
    start_us: int
    end_us: int
    words: str = ""


class Timeline(msgspec.Struct, frozen=True):
    """The contents of the picture."""

    title: str
    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    end_us: int
    verdict: str = ""
    """The result of the run, in a sentence."""
    broken: bool = False
    """True if the verdict reports a failure."""
    notes: tuple[str, ...] = ()
    """Sentences about what is not drawn, and why."""
    start_us: int = 0
    """The left edge of the picture."""

    def part(self, us: int) -> float:
        """The position of a time, from 0 at the left edge to 1 at the right edge."""
        return (us - self.start_us) / (self.end_us - self.start_us)

    def of(self, lane: str, *kinds: Kind) -> list[Bar]:
        """The bars of a lane, in the order of their start."""
        found = [bar for bar in self.bars if bar.lane == lane and bar.kind in kinds]
        return sorted(found, key=lambda bar: (bar.start_us, bar.end_us))

    @property
    def printed(self) -> list[Bar]:
        """The printed lines, in order."""
        return [bar for bar in self.bars if bar.kind == "says"]

    def kinds(self) -> set[Kind]:
        """The kinds that occur."""
        return {bar.kind for bar in self.bars}


def limited(timeline: Timeline) -> Timeline:
    """The part that can be drawn, with a note on what is left out: the end of a failed run, otherwise the start."""
    lanes, notes = timeline.lanes[:MOST_LANES], list(timeline.notes)
    if len(lanes) < len(timeline.lanes):
        notes.append(f"the first {len(lanes)} of {len(timeline.lanes)} threads are drawn")
    shown = set(lanes)
    bars = sorted((bar for bar in timeline.bars if bar.lane in shown), key=lambda bar: bar.start_us)
    start, end = timeline.start_us, max(timeline.end_us, timeline.start_us + 1)
    steps = [bar for bar in bars if bar.kind != "runs"]
    if len(steps) > MOST_BARS:
        if timeline.broken:
            steps = steps[-MOST_BARS:]
            start = min(bar.start_us for bar in steps)
        else:
            end = max(steps[MOST_BARS].start_us, start + 1)
            steps = steps[:MOST_BARS]
        part = f"{start / 1000:.4g} to {end / 1000:.4g} ms of {timeline.end_us / 1000:.4g} ms"
        notes.append(f"drawn: {part}, {MOST_BARS:,} steps")
        lives = [bar for bar in bars if bar.kind == "runs" and bar.start_us <= end and bar.end_us >= start]
        bars = [
            msgspec.structs.replace(bar, start_us=max(bar.start_us, start), end_us=min(bar.end_us, end))
            for bar in (*lives, *steps)
        ]
    return msgspec.structs.replace(
        timeline, lanes=lanes, bars=tuple(bars), start_us=start, end_us=end, notes=tuple(notes)
    )
