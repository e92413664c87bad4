"""SVG pictures are well-formed and self-contained, and contain everything of the trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sized
from pathlib import Path
from xml.etree import ElementTree

import pytest

from vez.catalogue.load import load_algorithm
from vez.core.trace import AnyEvent, Delivered, Header, Noted, Sent, Status, TimerSet, Trace
from vez.draw import html, svg
from vez.draw.trace import limits
from vez.draw.trace.layout import Picture
from vez.draw.trace.scale import Scale
from vez.study.report import run_and_report
from vez.worlds.sim.scenario import load

from .hostile import hostile
from .traces import SCENARIOS, run

NAMESPACE = "{http://www.w3.org/2000/svg}"


def parse(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314 (our own output)


def classes(root: ElementTree.Element) -> list[set[str]]:
    return [set(element.get("class", "").split()) for element in root.iter()]


def having(root: ElementTree.Element, *names: str) -> int:
    return sum(set(names) <= found for found in classes(root))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_message_and_every_interval_is_drawn(name: str) -> None:
    trace, verdicts = run(name)
    root = parse(svg(trace, verdicts))
    picture = Picture(trace, verdicts)
    drawn = [element for element in root.iter(f"{NAMESPACE}g") if "message" in element.get("class", "").split()]
    drawn = [element for element in drawn if element.get("data-number")]
    assert len(drawn) == len(picture.arrows)
    bars = {
        kind: sum(element.get("class") == kind for element in root.iter(f"{NAMESPACE}rect"))
        for kind in ("waiting", "inside", "reign", "paused")
    }
    history = picture.history
    legend: dict[str, Sized] = {
        "waiting": history.stays,
        "inside": [one for one in history.stays if one.served],
        "reign": history.reigns,
        "paused": history.pauses,
    }
    assert bars == {kind: len(found) + bool(found) for kind, found in legend.items()}  # and one in the legend


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_comes_from_elsewhere_and_nothing_leaves_the_frame(name: str) -> None:
    picture = svg(*run(name))
    assert re.findall(r"https?://[^\"' ]+", picture) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|href=|@import|<image|<foreignObject", picture)
    root = parse(picture)
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for element in root.iter():
        for name_, limit in (("x", width), ("x1", width), ("x2", width), ("y", height), ("y1", height), ("y2", height)):
            assert 0 <= float(element.get(name_, "0")) <= limit


def test_a_message_slants_from_sending_to_arrival() -> None:
    root = parse(svg(*run("slow-holder")))
    message = next(element for element in root.iter(f"{NAMESPACE}g") if element.get("data-number") == "1")
    line = message.find(f"{NAMESPACE}line")
    assert line is not None
    assert float(line.get("x1", "")) > float(line.get("x2", ""))  # from 3 to 1
    assert float(line.get("y1", "")) < float(line.get("y2", ""))


@pytest.mark.parametrize(
    ("name", "kinds", "words"),
    [
        ("slow-holder", ("band", "wrong", "refused"), ("write refused", "exclusion broken: processes 3 and 4")),
        ("pause", ("paused",), ()),
        ("crash-inside", ("cross", "down", "back"), ("crashed",)),
        ("bully", ("crown", "reign", "cross"), ("leads", "LEADER")),
        ("partition", ("cut", "healed", "lost"), ("partition 1 2 | 3 4 5", "partition healed")),
        ("lossy", ("lost", "copy"), ("Reply(1) again",)),
    ],
)
def test_faults_are_visible(name: str, kinds: tuple[str, ...], words: tuple[str, ...]) -> None:
    picture = svg(*run(name))
    root = parse(picture)
    for kind in kinds:
        assert having(root, kind), kind
    for text in words:
        assert text in picture


def test_labels_do_not_lie_on_each_other() -> None:
    root = parse(svg(*run("contended")))
    level = [
        (float(text.get("x", "")), float(text.get("y", "")), text.text)
        for group in root.iter(f"{NAMESPACE}g")
        if group.get("data-number")
        for text in group.iter(f"{NAMESPACE}text")
    ]
    assert len(level) >= 8
    for place, (x, y, _) in enumerate(level):
        assert all(abs(x - other_x) > 12 or abs(y - other_y) > 6 for other_x, other_y, _ in level[:place])


def whole(text: ElementTree.Element) -> str:
    """The text of which an element shows all or a part."""
    title = text.find(f"{NAMESPACE}title")
    return (text.text if title is None else title.text) or ""


@pytest.mark.parametrize("name", ["01-coordinator", "08-ricart-agrawala", "19-franklin", "26-blocking-clients"])
def test_every_label_of_a_message_and_every_state_is_drawn(name: str) -> None:
    """If they do not fit, the time axis is drawn longer."""
    scenario = load(Path(__file__).parent.parent.parent / "scenarios" / f"{name}.toml")
    found = run_and_report(scenario, load_algorithm(scenario.algorithm))
    picture = svg(found.trace, found.verdicts)
    root = parse(picture)
    drawn = Picture(found.trace)
    messages = [group for group in root.iter(f"{NAMESPACE}g") if group.get("data-number")]
    labelled = Counter(whole(text) for group in messages for text in group.iter(f"{NAMESPACE}text"))
    broadcasts = {(arrow.sender, arrow.sent_at, arrow.label) for arrow in drawn.arrows}
    assert labelled == Counter(label for _, _, label in broadcasts)
    states = {(event.at, event.process): drawn.remark(event) for event in found.trace if isinstance(event, Status)}
    words = {
        (text.get("data-i"), whole(text)) for text in root.iter(f"{NAMESPACE}text") if "words" in text.get("class", "")
    }
    assert Counter(states.values()) - Counter(part for _, line in words for part in line.split(" · ")) == Counter()
    assert "Not drawn" not in picture


def test_labels_without_room_are_counted_in_the_heading() -> None:
    header = Header(vez_trace=2, algorithm="a", role="other", ids=(1, 2), topology="complete", ended_at=1)
    pairs = [(Sent(0, 1, number, 2, f"M{number}"), Delivered(1, 2, 1, number)) for number in range(100)]
    trace = Trace(header, tuple(event for pair in zip(*pairs, strict=True) for event in pair))
    picture = svg(trace)
    labels = [group for group in parse(picture).iter(f"{NAMESPACE}g") if group.find(f"{NAMESPACE}text") is not None]
    drawn = sum(group.get("data-number") is not None for group in labels)
    assert 0 < drawn < 100
    said = f"{100 - drawn} labels without room, which the mouse shows"
    assert f"Not drawn: {said}." in picture
    assert said in html(trace)


def test_states_of_a_process_stay_in_their_order() -> None:
    header = Header(vez_trace=2, algorithm="a", role="other", ids=(1, 2), topology="complete", ended_at=9)
    trace = Trace(header, tuple(Status(at, 1, f"state {at}") for at in range(9)))
    words = [text for text in parse(svg(trace)).iter(f"{NAMESPACE}text") if text.get("class") == "words"]
    assert [text.text for text in words] == [f"state {at}" for at in range(9)]
    heights = [float(text.get("y", "")) for text in words]
    assert heights == sorted(heights)


def test_hostile_text_is_escaped() -> None:
    picture = svg(*hostile())
    root = parse(picture)
    assert not list(root.iter(f"{NAMESPACE}script"))
    assert "<script" not in picture
    assert any("</script>" in (element.text or "") for element in root.iter())
    picture.encode()


def test_says_what_it_leaves_out() -> None:
    header = Header(1, "x", "other", tuple(range(40)), "complete", ended_at=9999)
    events: list[AnyEvent] = []
    for number in range(1, 3001):
        events += [
            Sent(number, number % 40, number, (number + 1) % 40, "M"),
            Delivered(number, (number + 1) % 40, number % 40, number),
        ]
    picture = svg(Trace(header, tuple(events)))
    parse(picture)
    assert "Not drawn: 16 of 40 processes and their messages are left out." in picture
    assert re.search(r"Not drawn: the [\d,]+ events from [\d.]+ ms on, with [\d,]+ messages, are left out\.", picture)
    assert len(picture) < 1_000_000


def test_an_empty_trace_and_one_process() -> None:
    root = parse(svg(Trace(Header(1, "nothing", "other", (1,), "complete"), ())))
    assert root.tag.endswith("svg")
    assert having(root, "life") == 1


def test_a_long_silence_is_cut_short_and_ticks_stay_out_of_it() -> None:
    scale = Scale([0, 1000, 2000, 102_000, 103_000], 1000, 40, 10)
    assert scale.breaks == [(2000, 102_000)]
    assert scale.y(102_000) - scale.y(2000) == 100
    ticks = scale.ticks()
    assert ticks == [0, 1000, 2000, 102_000, 103_000]
    assert [scale.y(at) for at in ticks] == sorted(scale.y(at) for at in ticks)


@pytest.mark.parametrize(
    ("us", "words"), [(100_000, "100 ms"), (7_410, "7.41 ms"), (6_464_000, "6.46 s"), (2 * 10**9, "2000 s")]
)
def test_a_long_silence_says_how_long_it_was(us: int, words: str) -> None:
    """The text is short, because it is in the margin, and real runs may wait for seconds."""
    events = (*(Noted(at, 1, "x") for at in range(0, 5000, 1000)), Noted(4000 + us, 1, "x"), Noted(5000 + us, 1, "x"))
    header = Header(vez_trace=2, algorithm="a", role="mutex", ids=(1, 2), topology="complete", ended_at=6000 + us)
    assert f">{words}<" in svg(Trace(header, events))


def test_events_that_no_picture_shows_do_not_count() -> None:
    header = Header(vez_trace=2, algorithm="a", role="mutex", ids=(1, 2), topology="complete", seed=0, ended_at=10)
    hidden = tuple(TimerSet(0, 1, "t", 5) for _ in range(limits.MAX_EVENTS))
    shown = tuple(Noted(1, 1, "here") for _ in range(limits.MAX_EVENTS))
    assert limits.limit(Trace(header, (*hidden, *shown))) == (Trace(header, (*hidden, *shown)), ())
    cut, said = limits.limit(Trace(header, (*hidden, *shown, Noted(2, 1, "too much"))))
    assert cut.events == (*hidden, *shown)
    assert tuple(map(str, said)) == ("the 1 events from 0.002 ms on, with 0 messages, are left out",)
