"""A trace with one event dropped, added, swapped or changed is rejected, unless it is another possible run.

Each mutation that is accepted must have one of the reasons below, found here without the validator. The numbers are
those of docs/how-to/validate-a-run.md, which `--rewrite-golden` brings up to date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.judge.validate.mutations import Mutation, mutations
from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.core.trace import (
    AnyEvent,
    Asked,
    Crashed,
    Cut,
    Delivered,
    Healed,
    Left,
    Lost,
    Paused,
    Resumed,
    Sent,
    Trace,
    Wanted,
)
from vez.core.trace_file import decode
from vez.errors import BadData
from vez.judge.validate import Answer, validate
from vez.judge.validate.steps import OUTCOMES
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Network, Partition, Pause, Want

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "validate-a-run.md"

SAMPLES: dict[str, Scenario] = {
    scenario.algorithm: scenario
    for scenario in (
        Scenario(algorithm="ricart-agrawala", n=3, want=(Want(process=1), Want(process=2, at_ms=0.5))),
        Scenario(algorithm="lamport", n=3, want=(Want(process=1), Want(process=2, at_ms=0.5, withdraw_ms=1.5))),
        Scenario(
            algorithm="coordinator-lease",
            n=3,
            parameters={"lease_ms": 6},
            want=(Want(process=2), Want(process=3, at_ms=1, inside_ms=3)),
            pause=(Pause(process=2, at_ms=3, for_ms=7),),
        ),
        Scenario(algorithm="itai-rodeh", n=3),
        Scenario(
            algorithm="bully",
            n=3,
            seed=3,
            until_ms=30,
            network=Network(loss=0.1, duplicate=0.2),
            crash=(Crash(process=3, at_ms=1.5),),
        ),
        Scenario(
            algorithm="majority",
            n=3,
            until_ms=25,
            crash=(Crash(process=1, at_ms=6, recover_ms=14),),
            partition=(Partition(at_ms=3, until_ms=9, groups=((1,), (2, 3))),),
        ),
    )
}

CONCURRENT = "two events of different processes or channels, neither of which caused the other"
ARRIVAL = "two messages of different senders, and no channel promises which arrives first"
TIME = "a time that nothing fixes: no handler did anything visible then"
FLYING = "a delivery with no visible effect, of a message that can still be on its way when the run ends"
COPY = "a second delivery with no visible effect, where channels may duplicate"
SILENT = "a crash of a process that does nothing more, and that only the failure detector noticed"
CHANNEL = "a cut or healed channel that carried nothing afterwards"
REASONS = (CONCURRENT, ARRIVAL, TIME, FLYING, COPY, SILENT, CHANNEL)

FREE = (Wanted, Asked, Left, Delivered, Crashed, Paused, Resumed, Cut, Healed, Lost)
"""Events whose time the world decides."""


def reason(trace: Trace, mutation: Mutation) -> str | None:
    """Reason why a mutation is another possible run; None if there is no known reason."""
    events, index, header = trace.events, mutation.index, trace.header
    event = events[index]
    following = events[index + 1] if index + 1 < len(events) else None
    mute = not (isinstance(following, OUTCOMES) and following.process == event.process)
    match mutation.kind, event:
        case "swap", _ if following is not None:
            channels = {channel(trace, event), channel(trace, following)}
            if isinstance(event, Cut | Healed) or isinstance(following, Cut | Healed):
                return CONCURRENT if len(channels) == 2 else None
            if event.process != following.process:
                caused = isinstance(event, Sent) and getattr(following, "message", None) == event.message
                return None if caused else CONCURRENT
            both = isinstance(event, Delivered) and isinstance(following, Delivered)
            return ARRIVAL if both and event.sender != following.sender else None  # type: ignore[union-attr]
        case "change", _ if mutation.field == "at" and isinstance(event, FREE) and mute:
            return TIME
        case "drop", Delivered() if mute and header.end == "time":
            return FLYING
        case "add", Delivered() if not header.promises.once:
            return COPY
        case "drop", Crashed() if all(later.process != event.process for later in events[index + 1 :]):
            return SILENT
        case "drop", Cut() | Healed():
            later = (channel(trace, sent) for sent in events[index + 1 :] if isinstance(sent, Sent))
            return None if channel(trace, event) in later else CHANNEL
        case _:
            return None


def channel(trace: Trace, event: AnyEvent) -> tuple[int, int] | None:
    """The channel that an event is about."""
    if isinstance(event, Delivered | Lost):
        event = trace.messages()[event.message]
    return (event.process, event.to) if isinstance(event, Sent | Cut | Healed) else None


def judged(name: str) -> Counter[str]:
    """Number of mutations of a sample that were refused by the loader, found impossible, or accepted, by reason."""
    algorithm = find(name)
    trace = decode(trace_of(simulate(SAMPLES[name], algorithm)).to_bytes(), name)
    assert validate(trace, algorithm).answer is Answer.POSSIBLE
    counts: Counter[str] = Counter()
    for mutation in mutations(trace):
        try:
            mutant = decode(mutation.trace.to_bytes(), name)
        except BadData:
            counts["refused"] += 1
            continue
        found = validate(mutant, algorithm)
        if found.answer is Answer.IMPOSSIBLE:
            counts["impossible"] += 1
            continue
        why = reason(trace, mutation)
        assert why is not None, f"{mutation.kind} {mutation.field} {trace.events[mutation.index]} was accepted"
        counts[why] += 1
    return counts


@pytest.fixture(scope="module")
def figures() -> dict[str, Counter[str]]:
    return {name: judged(name) for name in SAMPLES}


def test_every_accepted_mutation_is_another_possible_run(figures: dict[str, Counter[str]]) -> None:
    total = sum(figures.values(), Counter[str]())
    assert {why for why in total if why not in ("refused", "impossible")} == set(REASONS), "each reason occurs"


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def test_the_figures_of_the_page(figures: dict[str, Counter[str]], golden: Callable[[Path, str], None]) -> None:
    """Both tables of the page are written by `--rewrite-golden`."""
    total = sum(figures.values(), Counter[str]())
    accepted = {name: sum(counts[why] for why in REASONS) for name, counts in figures.items()}
    runs = table(
        ("run of", "changes", "refused by the reader", "impossible", "possible"),
        [
            (f"`{name}`", sum(counts.values()), counts["refused"], counts["impossible"], accepted[name])
            for name, counts in figures.items()
        ],
    )
    reasons = table(("the change concerns", "changes"), [(why, total[why]) for why in REASONS])
    text = PAGE.read_text(encoding="utf-8")
    for head, body in (("| run of |", runs), ("| the change concerns |", reasons)):
        old = text[text.index(head) :].partition("\n\n")[0] + "\n"
        text = text.replace(old, body)
    golden(PAGE, text)
