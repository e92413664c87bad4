"""A trace as a space-time diagram: one lifeline for each process, time downwards, messages slanted.

The file is self-contained: no scripts, no external fonts or pictures, colours for light and dark screens.
Elements have the attribute `data-i`, the place of their event in the trace, by which the player finds them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from importlib.resources import files

import msgspec

from vez.core.trace import Trace
from vez.draw.trace.layout import Picture, clean
from vez.draw.trace.limits import limit
from vez.draw.trace.markup import Markup, width_of
from vez.draw.trace.messages import draw_messages, mark_lines
from vez.draw.trace.places import Labels, Places, pages_for
from vez.draw.trace.processes import OUTLINED, draw_bars, draw_marks, draw_words
from vez.judge.properties.verdict import Verdict
from vez.judge.words import Language, Sentence, property_name, said, scenario_title
from vez.judge.words.sentence import ms

STYLE = files("vez.draw.trace").joinpath("svg.css").read_text(encoding="utf-8")


ATTEMPTS = 12
PAGES = (590.0, 840.0)
"""Widths of the diagram that fit into pages of 1,024 and 1,280 pixels."""
MORE, MOST = 12.0, 180.0
"""Pixels by which an interval of time grows for each label without room (at most three at once), and in total."""


class Drawing(msgspec.Struct, frozen=True):
    """A diagram, its geometry, and descriptions of what is not in it."""

    svg: str
    places: Places
    left_out: tuple[Sentence, ...]


def svg(trace: Trace, verdicts: Sequence[Verdict] = (), *, language: Language = "en") -> str:
    """The trace as an SVG file."""
    shown, left_out = limit(trace)
    return draw(Picture(shown, verdicts, language), left_out).svg


def draw(picture: Picture, left_out: tuple[Sentence, ...] = (), *, heading: bool = True) -> Drawing:
    """The diagram. Without a heading it can be part of a page, and is as narrow as the page is."""
    pages = [math.inf] if heading else pages_for(len(picture.ids), PAGES)
    for page in pages:
        out, places, missing = _with_room(picture, left_out, heading, page)
        if not missing:
            break
    if missing:
        left_out += (said("drawn_fewer_labels", count=missing),)
        out, places, _ = _with_room(picture, left_out, heading, pages[-1])
    lines = _heading(picture, left_out) if heading else []
    if heading:
        _badges(out, picture, places)
    for place, (kind, text) in enumerate(lines):
        out.text(24, 32 + 19 * place, text, kind)
    width = places.width if not heading else max(places.width, 520, *(width_of(text, 13) + 60 for _, text in lines))
    height = _legend(out, picture, places, width)
    return Drawing(_wrap(picture, out, width, height), places, left_out)


def _with_room(
    picture: Picture, left_out: Sequence[Sentence], heading: bool, page: float
) -> tuple[Markup, Places, int]:
    """Make intervals of time longer if labels have no room. Returns the number of labels that still have none."""
    top = _top(_heading(picture, left_out) if heading else [])
    added: dict[int, float] = {}
    for _ in range(ATTEMPTS):
        out, words, places = Markup(), Markup(), Places(picture, top, added, page)
        labels = Labels(places)
        _background(out, picture, places)
        draw_bars(out, picture, places)
        draw_marks(out, picture, places, labels)
        mark_lines(picture, places, labels)
        draw_words(words, picture, places, labels)  # before the messages, whose labels have more possible places
        draw_messages(out, picture, places, labels)
        out.add(words)
        if not labels.missing:
            break
        for start, count in labels.wanted_room().items():
            added[start] = min(added.get(start, 0) + MORE * min(count, 3), MOST)
    return out, places, len(labels.missing)


def _wrap(picture: Picture, out: Markup, width: float, height: float) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    hatch = (
        '<pattern id="vez-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect class="hatch-ground" width="6" height="6"/><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="vez" role="img" {size}>\n'
        f"{Markup.element('title', picture.title)}\n<style>{STYLE}</style>\n<defs>{hatch}</defs>\n"
        f'<rect class="background" width="100%" height="100%"/>\n{out}\n</svg>\n'
    )


def _heading(picture: Picture, left_out: Sequence[Sentence]) -> list[tuple[str, str]]:
    header = picture.trace.header
    served = sum(stay.served for stay in picture.history.stays)
    messages = len({arrow.message for arrow in picture.arrows})
    parts = [
        picture.told("drawn_processes", count=len(header.ids)),
        picture.told("drawn_messages", count=messages),
        *([picture.told("drawn_entries", count=served)] if header.role == "mutex" else []),
        f"{ms(picture.end)} ms",
        picture.told("drawn_seed", seed=header.seed),
    ]
    room = max(60, min(110, 24 * len(header.ids)))
    algorithm = clean(header.algorithm)
    parts = [algorithm, *parts] if header.title else parts
    heads = textwrap.wrap(clean(scenario_title(header.title, picture.language)), room) or [algorithm]
    lines = [*(("title", head) for head in heads), ("soft", " · ".join(parts))]
    for violation in picture.violations:
        first, *rest = textwrap.wrap(f"✗ {violation.words}", room)
        lines += [("verdict", first), *(("verdict", f"   {line}") for line in rest)]
    return [*lines, *(("notice", picture.told("drawn_not", what=words)) for words in left_out)]


def _top(lines: Sequence[object]) -> float:
    return 66 + 19 * len(lines) if lines else 58


def _background(out: Markup, picture: Picture, places: Places) -> None:
    left, right = places.left - 30, places.width - 14
    for violation in picture.violations:
        if violation.start is not None:
            top, bottom = places.y(violation.start), places.y(violation.end)
            out.rect(left, top - 3, right - left, max(bottom - top, 4) + 6, "band", round_=4, title=violation.words)
    for at in places.scale.ticks():
        y = places.y(at)
        out.line(left, y, right, y, "grid")
        out.text(left - 8, y + 3.5, ms(at), "tick")
    for start, end in places.scale.breaks:
        middle = (places.y(start) + places.y(end)) / 2
        zigzag = f"M{left - 20:.0f} {middle + 4:.1f} l5 -8 l5 8 l5 -8"
        out.path(zigzag, "break", title=picture.told("drawn_shorter", us=end - start))
        out.text(left - 26, middle + 4, _duration(end - start), "tick")
    if picture.loop is not None:
        top, bottom = places.y(picture.loop[0]), places.y(picture.loop[1])
        out.rect(left + 2, top, right - left - 4, bottom - top, "loop", round_=8, title=picture.told("drawn_repeats"))
        out.text(right - 8, top - 5, f"↻ {picture.told('drawn_for_ever')}", "loop-words")
    for partition in picture.partitions:
        y, kind = places.y(partition.at), "cut" if partition.cut else "healed"
        out.line(left, y, right, y, kind, index=partition.index)


def _duration(us: int) -> str:
    """A time that fits beside the picture."""
    value, unit = (us / 1e3, "ms") if us < 1e6 else (us / 1e6, "s")
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _badges(out: Markup, picture: Picture, places: Places) -> None:
    out.text(places.left - 38, places.top - 22, "ms", "tick")
    for process in picture.ids:
        name = picture.names[process]
        wide = max(30, width_of(name, 13) + 18)
        x, y = places.x(process), places.top - 40
        out.open("badge", process=process)
        out.rect(x - wide / 2, y, wide, 25, "", round_=8)
        out.text(x, y + 17, name, "")
        out.close()


def _legend(out: Markup, picture: Picture, places: Places, width: float) -> float:
    """Legend of the signs that occur, in as many lines as it takes. Returns its bottom."""
    history = picture.history
    lost = any(arrow.fate not in ("delivered", "flying") for arrow in picture.arrows)
    copies = any(arrow.copy for arrow in picture.arrows)
    broken = [one for one in picture.violations if one.start is not None]
    outlined = [one for one in picture.violations if one.start is None and one.spans and one.name in OUTLINED]
    entries = [
        ("waiting", "waiting", bool(history.stays)),
        ("inside", "inside", any(stay.served for stay in history.stays)),
        ("reign", "leader", bool(history.reigns)),
        ("paused", "paused", bool(history.pauses)),
        ("cross", "crashed_or_lost" if lost else "crashed", bool(history.downs)),
        ("cross", "message_lost", lost and not history.downs),
        ("copy", "copy", copies),
        ("band", "broken", bool(broken)),
        ("wrong missing", "outlined", bool(outlined)),
    ]
    failed = ", ".join(property_name(one.name, picture.language) for one in outlined)
    x, y = 24.0, places.bottom + 32
    out.open("legend")
    for kind, sign, occurs in entries:
        if not occurs:
            continue
        name = picture.told(f"sign_{sign}", what=failed)
        if x > 24 and x + 19 + width_of(name, 11) > width:
            x, y = 24.0, y + 18
        if kind == "cross":
            out.cross(x + 6, y - 4, 4)
        elif kind == "copy":
            out.open("message copy k4").line(x - 4, y - 4, x + 14, y - 4, "").close()
        else:
            out.rect(x, y - 10, 12, 12, kind, round_=3)
        out.text(x + 19, y, name, "")
        x += 36 + width_of(name, 11)
    out.close()
    return y + 24
