"""Text pictures fit, show every kind of event, and are exactly as expected for small traces."""

from __future__ import annotations

import re
from collections import Counter
from textwrap import dedent

import pytest

from vez.core.trace import FORMAT, AnyEvent, Crashed, Delivered, Header, Noted, Recovered, Sent, Trace
from vez.draw import text
from vez.draw.trace.canvas import cells

from .hostile import hostile
from .traces import SCENARIOS, run

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("name", SCENARIOS)
def test_fits_the_width_with_and_without_colours(name: str, width: int) -> None:
    plain = text(*run(name), width=width)
    assert max(map(cells, plain.splitlines())) <= width
    assert "\x1b" not in plain
    coloured = text(*run(name), width=width, color=True)
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == plain


def test_slow_holder_exactly() -> None:
    assert text(*run("slow-holder"), width=90) == dedent(
        """\
        coordinator-lease · 4 processes · seed 0
        ┊ waiting   █ inside   ! broken
          ms      1              2              3              4
           0      │ free, queue []              ┊ wants in     │
           1      │              │              ┊              ┊ wants in
                  │◀──────────────────Request───┊              ┊
                  │ lease 1, queue []           ┊              ┊
           2      │◀─────────────────────────────────Request───┊
                  │ lease 1, queue [4]          ┊              ┊
                  │──Grant(1)──────────────────▶┊              ┊
                  │              │              █ inside, token 1
           3      │              ┊ wants in     █              ┊
           4      │◀──Request────┊              █              ┊
                  │ lease 1, queue [4, 2]       █              ┊
          11      │ timer lease · lease 1 ran out · lease 2, queue [2]
          12 ! ✗ exclusion broken: processes 3 and 4 were inside together from 12 to 17 ms
             !    │──Grant(2)─────────────────────────────────▶┊
             !    │              ┊              █              █ inside, token 2
          17 !    │              ┊              █              │ outside
          18      │◀───────────────────────────────Release(2)──│
                  │ lease 3, queue []           █              │
          19      │───Grant(3)──▶┊              █              │
                  │              █ inside, token 3             │
          22      │              │ outside      █              │
          23      │◀─Release(3)──│              █              │
                  │ free, queue []              █              │
          32      │              │              │ write refused, token 1 is stale · outside
          33      │◀────────────────Release(1)──│              │

        ✗ exclusion broken: processes 3 and 4 were inside together from 12 to 17 ms
        """
    )


def test_every_delivery_is_an_arrow_and_every_loss_a_cross() -> None:
    for name in ("lossy", "contended", "partition", "crash"):
        trace, verdicts = run(name)
        drawn = Counter(sign for sign in text(trace, verdicts, width=120) if sign in "▶◀")
        assert drawn.total() == sum(isinstance(event, Delivered) for event in trace), name
    lost = text(*run("crash"), width=100)
    assert len(re.findall(r"✗╌+Request", lost)) == 3


@pytest.mark.parametrize(
    ("name", "signs"),
    [
        ("pause", ("░", "stands still", "goes on", "write refused")),
        ("crash-inside", ("✗ crashed", "○ back")),
        ("bully", ("✗ crashed", "suspects 5", "leads · LEADER", "┃")),
        ("bully-back", ("○ back without memory", "trusts 3")),
        ("partition", ("partition 1 2 | 3 4 5", "partition healed", "✗ uniqueness broken")),
        ("one-way", ("cut 1→3",)),
        ("lossy", ("Request(2) copy", "✗ starvation_freedom broken")),
    ],
)
def test_faults_are_visible(name: str, signs: tuple[str, ...]) -> None:
    drawn = text(*run(name), width=110)
    for sign in signs:
        assert sign in drawn


def test_a_crashed_lifeline_is_blank_until_it_comes_back() -> None:
    header = Header(1, "x", "other", (1, 2), "complete", ended_at=3000)
    events = (Crashed(1000, 2), Sent(1500, 2, 1, 1, "M"), Delivered(2000, 1, 2, 1), Recovered(3000, 2))
    lines = text(Trace(header, events), width=60).splitlines()
    column = lines[3].index("✗ crashed")
    between = next(line for line in lines if "M" in line)
    assert between.ljust(column + 1)[column] == " "
    assert lines[-1][column] == "○"


def test_many_processes_become_a_list() -> None:
    drawn = text(*run("many"), width=80)
    assert re.search(r"^ +[\d.]+ +\d+ → \d+  Request\(\d", drawn, re.MULTILINE)
    assert "│" not in drawn


def test_a_long_trace_says_what_it_leaves_out() -> None:
    header = Header(1, "x", "other", (1, 2), "complete")
    events: list[AnyEvent] = []
    for number in range(1, 2501):
        events += [Sent(number * 10, 1, number, 2, "M"), Delivered(number * 10, 2, 1, number)]
    drawn = text(Trace(header, tuple(events)), width=60)
    assert "lines left out here" in drawn
    assert drawn.count("\n") < 1100


def test_hostile_text_is_harmless() -> None:
    drawn = text(*hostile(), width=80)
    assert not set(drawn) & set("\x1b\x00\x07\u202e\u2028\r\ud800")
    assert max(map(cells, drawn.splitlines())) <= 80
    drawn.encode()


def test_an_empty_trace() -> None:
    header = Header(1, "nothing", "other", (1, 2), "complete")
    assert "nothing · 2 processes" in text(Trace(header, ()))


def test_a_time_that_is_longer_than_that_of_the_end_is_shown_whole() -> None:
    """Real runs have times like 1347.617 ms and may end at 3118.4 ms; the first digit was cut off."""
    header = Header(vez_trace=FORMAT, algorithm="x", role="other", ids=(1, 2), topology="complete", ended_at=3_118_400)
    trace = Trace(header, (Noted(1_347_617, 1, "here"), Noted(2_000_000, 2, "there")))
    assert "1347.617" in text(trace)
