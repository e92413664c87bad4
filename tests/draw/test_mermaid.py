"""Mermaid: every block is closed, every text is escaped, and a small diagram is exactly as expected."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from vez.core.trace import AnyEvent, Delivered, Header, Lost, Sent, Trace
from vez.draw import mermaid

from .hostile import hostile
from .traces import SCENARIOS, run

LINE = re.compile(
    r"sequenceDiagram|participant (\w+) as -?\d+|note over \w+(,\w+)?: [^\n;]*|(de)?activate \w+"
    r"|rect rgb\([\d, ]+\)|end|\w+(->>|-->>|--x|--\))\w+: [^\n]*"
)


def check(diagram: str) -> None:
    """The grammar that we use of Mermaid's, balanced."""
    blocks, active = 0, Counter[str]()
    names = set(re.findall(r"participant (\w+)", diagram))
    for line in map(str.strip, diagram.splitlines()):
        bare = re.sub(r"#\d+;", "", line)
        assert LINE.fullmatch(bare), line
        assert ";" not in bare
        blocks += line.startswith("rect") - (line == "end")
        assert 0 <= blocks <= 1
        if found := re.fullmatch(r"(de)?activate (\w+)", line):
            active[found[2]] += -1 if found[1] else 1
            assert active[found[2]] in (0, 1)
        for name in re.findall(r"^(?:note over )?([pm]\d+)(?:,([pm]\d+)|\W+([pm]\d+))?", line):
            assert {part for part in name if part} <= names
    assert blocks == 0
    assert not +active


@pytest.mark.parametrize("name", SCENARIOS)
def test_is_balanced_and_shows_every_arrival(name: str) -> None:
    trace, verdicts = run(name)
    diagram = mermaid(trace, verdicts)
    check(diagram)
    arrived = sum(isinstance(event, Delivered) for event in trace)
    assert len(re.findall(r"^ +(\w+)--?>>(?!\1:)\w+:", diagram, re.MULTILINE)) == arrived
    lost = sum(isinstance(event, Lost) for event in trace)
    assert diagram.count("--x") == lost


def test_slow_holder_exactly() -> None:
    diagram = mermaid(*run("slow-holder"))
    lines = [line.strip() for line in diagram.splitlines()]
    start = lines.index("p1->>p1: ⏰ lease")
    assert lines[start : start + 11] == [
        "p1->>p1: ⏰ lease",
        "note over p1: 📝 lease 1 ran out",
        "note over p1: lease 2, queue [2]",
        "rect rgb(235, 120, 120)",
        "note over p3,p4: ❌ exclusion broken: processes 3<br/>and 4 were inside together from<br/>12 to 17 ms",
        "p1->>p4: Grant(2)",
        "activate p4",
        "note over p4: inside, token 2",
        "deactivate p4",
        "end",
        "p4->>p1: Release(2)",
    ]
    assert "note over p3: ⛔ write refused, token<br/>1 is stale" in lines


@pytest.mark.parametrize(
    ("name", "signs"),
    [
        ("crash-inside", ("💀 crashed", "🌱 back")),
        ("pause", ("⏸️ stands still", "▶️ goes on")),
        ("bully", ("👑 leads", "note over p1: CANDIDATE")),
        ("partition", ("✂️ partition 1 2 | 3 4 5", "(cut off)", "rect rgb(")),
        ("lossy", ("(lost)", "(copy)", "-->>")),
    ],
)
def test_faults_are_visible(name: str, signs: tuple[str, ...]) -> None:
    diagram = mermaid(*run(name))
    for sign in signs:
        assert sign in diagram


def test_hostile_text_is_escaped() -> None:
    trace, verdicts = hostile()
    diagram = mermaid(trace, verdicts)
    check(diagram)
    shown = diagram.replace("<br/>", "")
    assert not set(shown) & set("<\x1b\x00%$`\"'\u2028")
    assert diagram.count("\nend") == 0
    diagram.encode()


def test_stays_within_what_mermaid_takes() -> None:
    header = Header(1, "x", "other", (1, 2), "complete")
    events: list[AnyEvent] = []
    for number in range(1, 5001):
        events += [Sent(number, 1, number, 2, "Message"), Delivered(number, 2, 1, number)]
    diagram = mermaid(Trace(header, tuple(events)))
    check(diagram)
    assert len(diagram) < 50_000
    assert re.search(r"[\d,]+ later events left out", diagram)
