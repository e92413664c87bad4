"""A trace in which every text is an injection attempt: markup, an instruction, a terminal escape sequence."""

from __future__ import annotations

from vez.core.trace import AnyEvent, Delivered, Entered, Fired, Header, Noted, Sent, Status, Trace, Wanted
from vez.judge.properties.verdict import Span, Verdict, broken

EVIL = (
    "</script><script>document.body.dataset.hacked=1</script><img src=x onerror=alert(1)>",
    "a;b#c\nend\r\nrect rgb(0,0,0)\n%%{init: {}}%%",
    "\x1b[31mred\x1b[0m \x00\x07 \u202eback\u2028line \ud800 ]]> & <b> \"'`${x} --> <!--",
    "wrap: end",
    "長い言葉" * 30,
    "x" * 5000,
)


def hostile() -> tuple[Trace, tuple[Verdict, ...]]:
    """A trace of two processes, and verdicts, in which every text is hostile."""
    events: list[AnyEvent] = [Wanted(0, -1)]
    for number, text in enumerate(EVIL, 1):
        at = number * 1000
        events += [
            Sent(at, -1, number, 7, text, {"field": text}),
            Delivered(at + 500, 7, -1, number),
            Status(at + 500, 7, text),
            Noted(at + 500, 7, text),
            Fired(at + 500, 7, text),
        ]
    events.append(Entered(9000, -1, 3))
    header = Header(1, EVIL[0], "mutex", (-1, 7), EVIL[1], ended_at=9500)
    verdict = broken("exclusion", " ".join(EVIL), spans=(Span(-1, 9000, 9500),))
    return Trace(header, tuple(events)), (verdict,)
