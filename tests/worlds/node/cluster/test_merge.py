"""Journals merged into one trace: order, numbers over several lives, messages that crashes lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.cli.app import run
from vez.cli.parameters.recorded_runs import merged
from vez.core.trace import (
    AnyEvent,
    Crashed,
    Cut,
    Delivered,
    Fired,
    Header,
    Lost,
    Noted,
    Paused,
    Recovered,
    Sent,
    Started,
    Trace,
)
from vez.core.trace_file import decode
from vez.errors import BadData, MissingFile
from vez.worlds.node.cluster.journals import Life, read_lives
from vez.worlds.node.cluster.merge import merge
from vez.worlds.node.journal import FORMAT, Ended, Head, Journal, Received


def head(node: int, incarnation: str = "a", **changes: object) -> Head:
    made = Head(
        vez_journal=FORMAT, node=node, incarnation=incarnation, algorithm="x", group="g", ids=(1, 2), topology="complete",
        edges=(), assumes=(), time_scale=1.0, clock="boot",
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def life(node: int, *events: AnyEvent, incarnation: str = "a") -> Life:
    return Life(head(node, incarnation), list(events))


def sent(at: int, process: int, number: int, to: int) -> Sent:
    return Sent(at, process, number, to, "Word")


def loads(events: list[AnyEvent]) -> Trace:
    """The events, after the checks that a trace gets when it is read."""
    header = Header(vez_trace=2, algorithm="x", role="other", ids=(1, 2), topology="complete")
    return decode(Trace(header, tuple(events)).to_bytes(), "merged")


def test_a_delivery_stands_after_its_sending_also_within_one_microsecond() -> None:
    one = life(1, Started(100, 1), Received(105, 1, 2, 1, "b"))
    two = life(2, Started(101, 2), sent(105, 2, 1, 1), incarnation="b")
    merged = merge([one, two])
    assert merged.start_us == 100
    assert merged.events == [Started(0, 1), Started(1, 2), Sent(5, 2, 1, 1, "Word"), Delivered(5, 1, 2, 1)]
    loads(merged.events)


def test_messages_are_numbered_over_all_lives_of_their_sender() -> None:
    first = life(1, Started(0, 1), sent(1, 1, 1, 2), sent(2, 1, 2, 2))
    second = life(1, Recovered(10, 1), sent(11, 1, 1, 2), incarnation="b")
    two = life(2, Started(0, 2), Received(3, 2, 1, 1, "a"), Received(12, 2, 1, 1, "b"), incarnation="c")
    events = merge([first, two, second], [Crashed(5, 1)]).events
    assert [event for event in events if event.process == 1] == [
        Started(0, 1), Sent(1, 1, 1, 2, "Word"), Sent(2, 1, 2, 2, "Word"), Crashed(5, 1), Lost(5, 1, 2, "crash"),
        Recovered(10, 1), Sent(11, 1, 3, 2, "Word"),
    ]  # fmt: skip
    assert [event for event in events if isinstance(event, Delivered)] == [
        Delivered(3, 2, 1, 1),
        Delivered(12, 2, 1, 3),
    ]
    loads(events)


def test_a_crash_that_nobody_reported_is_after_the_last_event_of_the_life() -> None:
    lives = [life(1, Started(0, 1)), life(2, Started(0, 2)), life(1, Recovered(9, 1), incarnation="b")]
    assert Crashed(0, 1) in merge(lives).events


def test_a_life_that_did_not_stop_in_order_ends_with_a_crash(tmp_path: Path) -> None:
    for me in (1, 2):
        journal = Journal(tmp_path / f"{me}-a.jsonl", head(me))
        journal.write([Started(5, me), sent(6, me, 1, 3 - me), *([Ended(9, me)] if me == 1 else [])])
        journal.close()
    events = merge(read_lives(tmp_path)).events
    assert [event for event in events if isinstance(event, Crashed)] == [Crashed(1, 2)]
    assert [event for event in events if isinstance(event, Lost)] == [Lost(1, 2, 1, "crash"), Lost(2, 1, 1, "crash")]
    loads(events)


def test_a_journal_of_format_1_does_not_say_whether_its_node_stopped(tmp_path: Path) -> None:
    for me in (1, 2):
        journal = Journal(tmp_path / f"{me}-a.jsonl", head(me, vez_journal=1))
        journal.write([Started(5, me)])
        journal.close()
    assert merge(read_lives(tmp_path)).events == [Started(0, 1), Started(0, 2)]


def test_a_later_life_that_starts_as_if_it_were_the_first_is_a_recovery_without_memory() -> None:
    lives = [life(1, Started(0, 1)), life(2, Started(0, 2)), life(1, Started(9, 1), incarnation="b")]
    events = merge(lives).events
    assert [event for event in events if event.process == 1] == [
        Started(0, 1), Crashed(0, 1), Recovered(9, 1, memory=False, anew=True),
    ]  # fmt: skip
    loads(events)
    with pytest.raises(BadData, match="node 1 was started again with other values"):
        merge([*lives[:2], life(1, Started(9, 1, {"wait_ms": 5}), incarnation="b")])


def test_the_run_ends_where_a_handler_raised_an_exception(tmp_path: Path) -> None:
    first = Journal(tmp_path / "1-a.jsonl", head(1))
    first.write([Started(0, 1), Noted(1, 1, "a remark"), Fired(7, 1, "tick"), Noted(7, 1, "on_tick raised")])
    first.write([Ended(8, 1, raised=True)])
    again = Journal(tmp_path / "1-b.jsonl", head(1, "b"))
    again.write([Recovered(20, 1), Noted(21, 1, "back"), Ended(22, 1)])
    other = Journal(tmp_path / "2-a.jsonl", head(2))
    other.write([Started(0, 2), Fired(5, 2, "tick"), Fired(9, 2, "tick"), Ended(10, 2)])
    for journal in (first, again, other):
        journal.close()
    merged = merge(read_lives(tmp_path), [Crashed(9, 1)])
    assert merged.has_raised
    assert merged.events == [
        Started(0, 1), Started(0, 2), Noted(1, 1, "a remark"), Fired(5, 2, "tick"), Fired(7, 1, "tick"),
        Noted(7, 1, "on_tick raised"),
    ]  # fmt: skip
    with (tmp_path / "2-a.jsonl").open("a") as file:
        file.write('{"event":"fired","at":11,"process":2,"name":"tick"}\n')
    with pytest.raises(BadData, match="goes on after its end"):
        read_lives(tmp_path)


def test_what_was_handled_but_not_acknowledged_is_not_lost() -> None:
    one = life(1, Started(0, 1), sent(1, 1, 1, 2), sent(2, 1, 2, 2), Lost(9, 1, 1, "crash"), Lost(9, 1, 2, "crash"))
    two = life(2, Started(0, 2), Received(3, 2, 1, 1, "a"), incarnation="b")
    again = life(2, Recovered(8, 2), incarnation="c")
    events = merge([one, two, again]).events
    assert [event for event in events if isinstance(event, Lost)] == [Lost(9, 1, 2, "crash")]


def test_a_message_to_a_node_that_stays_dead_is_lost_by_the_crash() -> None:
    one = life(1, Started(0, 1), sent(1, 1, 1, 2), sent(8, 1, 2, 2), Fired(9, 1, "tick"))
    events = merge([one, life(2, Started(0, 2), incarnation="b")], [Crashed(5, 2)]).events
    found = [event for event in events if isinstance(event, Lost | Crashed)]
    assert found == [Crashed(5, 2), Lost(6, 1, 1, "crash"), Lost(8, 1, 2, "crash")]
    loads(events)


def test_what_a_node_wrote_after_the_order_to_kill_it_is_before_its_crash() -> None:
    lives = [life(1, Started(0, 1), Fired(7, 1, "tick")), life(2, Started(0, 2), incarnation="b")]
    events = merge(lives, [Crashed(6, 1)]).events
    assert [event for event in events if event.process == 1] == [Started(0, 1), Fired(7, 1, "tick"), Crashed(7, 1)]


def test_faults_take_their_place_by_time() -> None:
    one = life(1, Started(0, 1), Fired(4, 1, "a"), Fired(9, 1, "b"))
    events = merge([one, life(2, Started(0, 2))], [Cut(6, 1, 2), Paused(4, 1)]).events
    assert [event for event in events if event.process == 1] == [
        Started(0, 1), Fired(4, 1, "a"), Paused(4, 1), Cut(6, 1, 2), Fired(9, 1, "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lives", "words"),
    [
        (
            [life(1, Started(0, 1)), Life(head(2, time_scale=2.0), [Started(0, 2)])],
            "time_scale is 1.0 for node 1 and 2.0",
        ),
        ([life(1, Started(0, 1)), life(2, Recovered(0, 2))], "the start of node 2 is in no journal"),
        (
            [life(1, Started(0, 1), Received(1, 1, 2, 7, "z")), life(2, Started(0, 2))],
            "message 7 of node 2, which node 1 received, is in no journal",
        ),
        (
            [life(1, Started(0, 1), Received(1, 1, 2, 7, "z")), life(2, Started(0, 2), incarnation="z")],
            "message 7 of node 2, which node 1 received, is not in the journal of node 2",
        ),
        (
            [life(1, Started(0, 1), Lost(1, 1, 7, "crash")), life(2, Started(0, 2))],
            "message 7 of node 1, which node 1 lost, is not in the journal of node 1",
        ),
    ],
)
def test_journals_that_do_not_belong_together_are_refused(lives: list[Life], words: str) -> None:
    with pytest.raises(BadData, match=words):
        merge(lives)


def test_the_hint_names_the_journal_that_is_missing_or_damaged() -> None:
    received = life(1, Started(0, 1), Received(1, 1, 2, 7, "z"))
    for lives, hint in (
        ([received, life(2, Started(0, 2))], "the journal 2-z.jsonl is missing"),
        ([received, life(2, Started(0, 2), incarnation="z")], "2-z.jsonl is damaged or cut short"),
        ([life(1, Started(0, 1))], "a journal of node 2 is missing"),
        ([life(1, Started(0, 1)), life(2, Recovered(0, 2))], "a journal of node 2 is missing"),
        ([life(1, Started(0, 1)), life(2, Fired(0, 2, "a"))], "2-a.jsonl is damaged"),
    ):
        with pytest.raises(BadData) as caught:
            merge(lives)
        assert hint in caught.value.hint


def test_the_same_journal_given_twice_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1-a.jsonl", head(1))
    journal.write([Started(5, 1)])
    journal.close()
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "1-a.jsonl").read_bytes())
    with pytest.raises(BadData, match=r"1-a\.jsonl and .*copy\.jsonl are journals of the same life of node 1"):
        read_lives(tmp_path)


def test_journals_that_lost_any_line_are_judged_or_refused_in_words(tmp_path: Path) -> None:
    """Lines are taken out of a real run, one by one and to the end. No error is a traceback, and none names the journal
    of a node as missing that is there."""
    kept = tmp_path / "kept"
    options = ["--time-scale", "5", "--keep", str(kept)]
    assert run(["cluster", "-n", "2", "--algorithm", "majority", *options]) == 0
    hints = set[str]()
    for path in sorted((kept / "journal").iterdir()):
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for place in range(2, len(lines)):
            for left in (lines[:place], lines[:place] + lines[place + 1 : -1]):
                path.write_bytes(b"".join(left))
                try:
                    merged(kept, None)
                except BadData as error:
                    hints.add(error.hint.replace(path.name, "it"))
        path.write_bytes(whole)
    assert hints == {"it is damaged or cut short"}


def test_the_algorithm_may_lie_in_another_folder_on_each_host() -> None:
    names = ("relay.py:Relay", "/srv/demo/relay.py:Relay")
    lives = [Life(head(me, algorithm=name), [Started(0, me)]) for me, name in enumerate(names, 1)]
    assert len(merge(lives).events) == 2


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 3), st.booleans()), max_size=30))
def test_every_run_of_one_clock_merges_into_its_own_order(steps: list[tuple[int, int, bool]]) -> None:
    """Two processes send and deliver at times of one clock: the merge keeps each lane and puts causes first."""
    lanes: dict[int, list[AnyEvent]] = {1: [Started(0, 1)], 2: [Started(0, 2)]}
    flying: dict[int, list[int]] = {1: [], 2: []}
    counts, now = {1: 0, 2: 0}, 0
    for process, wait, sends in steps:
        now, other = now + wait, 3 - process
        if sends:
            counts[process] += 1
            lanes[process].append(sent(now, process, counts[process], other))
            flying[other].append(counts[process])
        elif flying[process]:
            lanes[process].append(Received(now, process, other, flying[process].pop(0), "a"))
    events = merge([life(process, *lane) for process, lane in lanes.items()]).events
    assert len(events) == sum(map(len, lanes.values()))
    loads(events)
    for process, lane in lanes.items():
        assert [event.at for event in events if event.process == process] == [event.at for event in lane]


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1-a.jsonl", head(1))
    journal.write([Started(5, 1), Fired(6, 1, "tick")])
    journal.close()
    path = tmp_path / "1-a.jsonl"
    path.write_bytes(path.read_bytes()[:-3])
    Journal(tmp_path / "2-b.jsonl", head(2, "b")).close()  # killed before it began
    (found,) = read_lives(tmp_path)
    assert found.events == [Started(5, 1)]
    with pytest.raises(MissingFile):
        read_lives(tmp_path / "nowhere")
    path.write_bytes(path.read_bytes().splitlines()[0] + b'\n{"event":"jumped"}\n')
    with pytest.raises(BadData, match="is damaged"):
        read_lives(tmp_path)
