"""`order` contains every order of messages that occurs: compared with every run and its history."""

from __future__ import annotations

import pytest

from tests.worlds.check.test_search import configuration
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State, Step
from vez.worlds.check.reduce.order import NOTHING_YET, Order


@pytest.mark.parametrize("name", ["dolev-klawe-rodeh", "chang-roberts", "ring-collect"])
def test_no_message_comes_out_of_order(name: str) -> None:
    model = Model(configuration(name, 3, {"fifo": True}))
    orders = {to: Order(model, (to - 1) % model.n * model.n + to) for to in range(model.n)}
    found: set[tuple[State, tuple[int, ...]]] = {(start, (NOTHING_YET,) * model.n) for start in model.initial()}
    steps: list[tuple[State, tuple[int, ...], Step]] = []
    work = sorted(found)
    while work:
        state, heard = work.pop()
        for step in model.steps(state):
            steps.append((state, heard, step))
            _learn(model, orders, state, step)
            later = tuple(
                step.message if step.kind == "deliver" and place == step.process else last
                for place, last in enumerate(heard)
            )
            if (step.state, later) not in found:
                found.add((step.state, later))
                work.append((step.state, later))
    for state, heard, step in steps:
        for place, order in orders.items():
            assert heard[place] in order.heard[state.locals[place]]
        if step.kind == "deliver":
            event = ("deliver", model.ids[step.other], step.message)
            assert event in orders[step.process].follows[heard[step.process]]


def test_dolev_klawe_rodeh_begins_with_first() -> None:
    """Otherwise the request to elect would not commute with received messages, and the reduction would save nothing."""
    model = Model(configuration("dolev-klawe-rodeh", 3, {}))
    order = Order(model, 0 * model.n + 1)
    for state in (start for start in model.initial()):
        for step in model.steps(state):
            _learn(model, {1: order}, state, step)
    assert [type(model.messages[event[2]]).__name__ for event in order.follows[NOTHING_YET]] == ["First"]


def _learn(model: Model, orders: dict[int, Order], state: State, step: Step) -> None:
    event = (step.kind, model.ids[step.other], step.message) if step.kind == "deliver" else (step.kind,)
    after = step.state.locals[step.process]
    for order in orders.values():
        order.add(step.process, state.locals[step.process], event, after, step.transition.sends)
