"""Which numbers are processes is declared, recorded in the trace, and used by pictures only."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vez.core import Io, Message, Process, ProcessId, named
from vez.core.process_ids import identifier_paths, pieces, unmarked, with_names
from vez.core.trace import Noted, Status
from vez.worlds.sim import Scenario, simulate

NAMES = {1: "p1", 2: "p2", 3: "p3", -4: "minus"}


class Seat(msgspec.Struct, frozen=True):
    """A part of a message."""

    owner: ProcessId
    since: int = 0


class Everything(Message):
    """Identifiers at every depth, beside numbers that are none."""

    leader: ProcessId | None
    term: int
    queue: tuple[ProcessId, ...]
    members: frozenset[ProcessId]
    waiting: tuple[tuple[int, ProcessId], ...]
    seat: Seat


class Told(Process):
    """Says whom it knows, and how often it was told."""

    known: int = 0

    def on_start(self, io: Io) -> None:
        self.known = io.peers[0]
        io.note(f"met {named(self.known)} at 1")

    def status(self) -> str:
        return f"knows {named(self.known)}, 1 time" if self.known else ""


def test_the_paths_follow_from_the_types() -> None:
    assert identifier_paths(Everything) == ("leader", "queue.*", "members.*", "waiting.*.1", "seat.owner")


def test_only_identifiers_get_names() -> None:
    fields = {
        "leader": 1, "term": 1, "queue": [3, 2], "members": [2], "waiting": [[2, 1], [1, 2]],
        "seat": {"owner": 3, "since": 3},
    }  # fmt: skip
    assert with_names(fields, identifier_paths(Everything), NAMES) == {
        "leader": "p1", "term": 1, "queue": ["p3", "p2"], "members": ["p2"], "waiting": [[2, "p1"], [1, "p2"]],
        "seat": {"owner": "p3", "since": 3},
    }  # fmt: skip
    assert with_names({"leader": None, "queue": [9]}, ("leader", "queue.*"), NAMES) == {"leader": None, "queue": [9]}


@pytest.mark.parametrize("fields", [{"queue": 7}, {"queue": None}, {"leader": [1]}, {"leader": True}, {}])
def test_fields_of_a_foreign_trace_that_do_not_fit_stay_as_they_are(fields: dict[str, object]) -> None:
    assert with_names(fields, ("leader", "queue.*.1", "seat.owner"), NAMES) == fields


@given(st.lists(st.one_of(st.integers(-9, 9), st.text("ab 0123456789[],-", max_size=4)), max_size=8))
def test_marks_are_taken_out_and_found_again(parts: list[int | str]) -> None:
    marked = "".join(named(part) if isinstance(part, int) else part for part in parts)
    text, places = unmarked(marked)
    assert text == "".join(map(str, parts))
    assert len(places) == sum(isinstance(part, int) for part in parts)
    assert "".join(map(str, pieces(text, places))) == text


@given(
    st.text("012 -a", max_size=8), st.lists(st.tuples(st.integers(-3, 12), st.integers(-3, 12)), max_size=5).map(tuple)
)
def test_places_of_a_foreign_trace_may_be_anything(text: str, places: tuple[tuple[int, int], ...]) -> None:
    assert "".join(map(str, pieces(text, places))) == text


@pytest.mark.parametrize(
    "place", [(0, 1 << 63), (-(1 << 63), 1), (-2, 2), (0, 3), (1, 1), (1, 0), (0, -1), (1 << 63, 1 << 64)]
)
def test_a_place_that_is_not_in_the_text_is_ignored(place: tuple[int, int]) -> None:
    assert list(pieces("12", (place, (0, 2)))) == ["", 12, ""]


def test_a_trace_has_the_plain_text_and_the_places_of_its_identifiers() -> None:
    trace = simulate(Scenario(algorithm="told", n=2), Told).trace
    assert trace is not None
    (met, knows) = (event for event in trace if isinstance(event, Noted | Status) and event.process == 1)
    assert (met.text, met.ids) == ("met 2 at 1", ((4, 5),))
    assert (knows.text, knows.ids) == ("knows 2, 1 time", ((6, 7),))
