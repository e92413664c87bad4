"""The wait-for graph: its cycles are compared with an exploration of every order of releases."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vez.locks.table.graph import Link, Node, Wait, cycle, grantable

NAMES = "abcd"


def lock(*holders: Link[str]) -> Node[str]:
    return Node(holders, None)


def test_a_cycle_of_two_locks_is_named_from_the_wanted_one() -> None:
    nodes = {"b": lock(Link("B", "a", False)), "a": lock(Link("A", None, True))}
    assert cycle(nodes, "b") == (Wait("B", "b", "a"), Wait("A", "a", None))
    assert cycle(nodes, "a") == (Wait("A", "a", None),)


def test_a_holder_that_goes_on_is_no_cycle() -> None:
    nodes = {"b": lock(Link("B", "a", False)), "a": lock(Link("A", None, False))}
    assert cycle(nodes, "b") is None
    assert grantable(nodes) == {"a", "b"}


def test_one_permit_that_comes_back_is_enough_and_one_reader_that_stays_is_too_many() -> None:
    stuck, going = Link("A", None, True), Link("B", None, False)
    assert cycle({"s": Node((stuck, going), 2)}, "s") is None
    assert cycle({"s": Node((stuck, stuck), 2)}, "s") is not None
    assert cycle({"s": Node((stuck,), 2)}, "s") is None, "a permit is free"
    assert cycle({"s": lock(stuck, going)}, "s") is not None


def test_who_waits_behind_a_cycle_of_others_closes_none() -> None:
    nodes = {"a": lock(Link("A", "b", False)), "b": lock(Link("B", "a", False))}
    assert grantable(nodes) == set()
    assert cycle(nodes, "a") is None


def granted_in_some_order(nodes: dict[str, Node[str]], wanted: str) -> bool:
    """Explore every order in which holders release."""

    def free(name: str, gone: frozenset[tuple[str, int]]) -> bool:
        left = [place for place in range(len(nodes[name].holders)) if (name, place) not in gone]
        limit = nodes[name].limit
        return not left if limit is None else len(left) < limit

    todo, seen = [frozenset[tuple[str, int]]()], set()
    while todo:
        gone = todo.pop()
        if free(wanted, gone):
            return True
        for name, node in nodes.items():
            for place, link in enumerate(node.holders):
                after = gone | {(name, place)}
                may = not link.mine and (link.waits is None or free(link.waits, gone))
                if may and after not in seen:
                    seen.add(after)
                    todo.append(after)
    return False


LINKS = st.builds(
    Link, st.sampled_from(["A", "B", "C"]), st.one_of(st.none(), st.sampled_from(NAMES)), st.sampled_from([False, False, True])
)  # fmt: skip
NODES = st.builds(Node, st.lists(LINKS, max_size=2).map(tuple), st.sampled_from([None, None, 2, 3]))


@given(st.fixed_dictionaries(dict.fromkeys(NAMES, NODES)))
@settings(max_examples=400, deadline=None)
def test_the_names_that_are_granted_at_some_time_are_those_of_some_order(nodes: dict[str, Node[str]]) -> None:
    assert grantable(nodes) == {name for name in NAMES if granted_in_some_order(nodes, name)}
