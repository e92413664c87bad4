"""Live locals and places: what is left out of the name of a position must not matter, on any version of Python."""

from __future__ import annotations

import contextlib
import hashlib
import random
import warnings
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests.locks.models.recipes.random_recipes import LOCALS, THROW, compiled, drive, overwrite
from vez.errors import ProtocolBug
from vez.locks.models.recipes.places import _Function, place_of
from vez.locks.models.recipes.positions import name_of, signature

ARGUMENTS = (1, 2, 3, 4)
REPLIES = (1, 2, 3, (4,), THROW)
POISON = "overwritten"


def walks(seed: int, count: int = 4) -> Iterator[tuple[Any, list[Any], list[Any], str]]:
    """Runs of a random program: the program, the replies, what came of each, its source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        program, source = compiled(seed)
    chance = random.Random(seed)
    for _ in range(count):
        replies = [None, *(chance.choice(REPLIES) for _ in range(14))]
        with suspended(program, []) as generator:
            yield program, replies, drive(generator, replies), source


@contextlib.contextmanager
def suspended(program: Any, replies: list[Any]) -> Iterator[Any]:
    """A generator that was given these replies. At the end it is closed, whatever it says to that."""
    generator = program(*ARGUMENTS)
    drive(generator, replies)
    try:
        yield generator
    finally:
        with contextlib.suppress(Exception):
            generator.close()


def overwritten(seed: int) -> Iterator[tuple[str, bool, bool, str]]:
    """For every local at every yield of some runs: its name, whether it is live, whether it matters, the source."""
    for program, replies, told, source in walks(seed):
        for count in range(1, len(told) + (told[-1][0] == "yielded")):
            with suspended(program, replies[:count]) as generator:
                live, bound = place_of(generator).live, sorted(set(LOCALS) & set(generator.gi_frame.f_locals))
            for name in bound:
                with suspended(program, replies[:count]) as generator:
                    overwrite(generator, name, POISON)
                    yield name, name in live, drive(generator, replies[count:]) != told[count:], source


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_a_local_that_is_not_live_may_have_any_value(first: int) -> None:
    dead = 0
    for seed in range(first, first + 20):
        for name, live, matters, source in overwritten(seed):
            assert live or not matters, f"seed {seed}: {name} is read later in\n{source}"
            dead += not live
    assert dead > 30


def test_an_overwritten_local_that_is_live_shows() -> None:
    """Otherwise the test above could not fail."""
    found = [matters for seed in range(10) for _, live, matters, _ in overwritten(seed) if live]
    assert sum(found) > len(found) / 10


@pytest.mark.parametrize("first", range(0, 80, 40))
def test_generators_of_one_name_go_on_alike(first: int) -> None:
    compared = 0
    for seed in range(first, first + 40):
        known: dict[str, list[Any]] = {}
        chance = random.Random(seed)
        for program, replies, told, source in walks(seed, 12):
            for count in range(1, len(told) + (told[-1][0] == "yielded")):
                way, future = replies[:count], [chance.choice(REPLIES) for _ in range(8)]
                with suspended(program, way) as generator:
                    name = name_of(signature(generator))
                    came = drive(generator, future)
                if (other := known.setdefault(name, way)) != way:
                    with suspended(program, other) as generator:
                        assert drive(generator, future) == came, f"seed {seed}: {name} is two states of\n{source}"
                    compared += 1
    assert compared > 100


def numbered(first: int) -> Generator[Any, Any, Any]:
    """What Python 3.12 and 3.13 compile otherwise than 3.11: comprehensions, pairs of stores and loads, ranges."""
    found, more = yield first
    kept = tuple([more + 1 for more in (found, more)])
    while (count := len(kept)) and found:
        for step in range(2, 9):
            found, more = yield (count, step)
        found = any(one == more for one in kept) or (yield (count, more))
        kept = kept[1:]
    return found


def test_names_are_the_same_on_every_python() -> None:
    """The names were written down once. A version of Python that gives others would have other states.

    The name of this file is part of them.
    """
    generator = numbered(7)
    found = []
    for reply in (None, (1, 2), (3, 4), (5, 6)):
        generator.send(reply)
        found.append(name_of(signature(generator)))
    assert found == ["numbered#fe8f1297b847", "numbered#7ad60686e5f6", "numbered#c3988d03d5ba", "numbered#9c259fea13fb"]


def test_names_in_random_programs_are_the_same_on_every_python() -> None:
    found = hashlib.sha256()
    for seed in range(40):
        for program, replies, told, _ in walks(seed, 2):
            for count in range(1, len(told) + (told[-1][0] == "yielded")):
                with suspended(program, replies[:count]) as generator:
                    found.update(name_of(signature(generator)).encode())
    assert found.hexdigest()[:12] == "1826162e1c07"


def test_equal_functions_of_two_names_are_two_places() -> None:
    made = []
    for _ in range(2):

        def same() -> Iterator[int]:
            yield 1

        made.append(same())

    def same() -> Iterator[int]:  # type: ignore[no-redef]
        yield 1

    made.append(same())
    for one in made:
        next(one)
    first, second, third = (name_of(signature(one)) for one in made)  # type: ignore[arg-type]
    assert first == second != third


def after_a_call() -> Iterator[Any]:
    yield (len("ab"), (yield 1))


def within_finally() -> Iterator[Any]:
    try:
        return
    finally:
        yield 1


def within_with() -> Iterator[Any]:
    with contextlib.suppress(ValueError):
        yield 1


def renamed(a: int) -> Iterator[Any]:
    yield (a, (a := 2) and (yield 1))


def looping() -> Iterator[Any]:
    for one in (number for number in (1, 2)):
        yield one + 1


@pytest.mark.parametrize(
    ("program", "arguments", "why"),
    [
        (after_a_call, (), "a yield after an operand that is neither a variable nor a constant"),
        (within_finally, (), "a yield within finally"),
        (within_with, (), "a yield within With"),
        (renamed, (1,), "a yield and := after an operand that is the same variable"),
        (looping, (), "which can change in place"),
        (eval("lambda: (yield)"), (), "its source is not found"),  # noqa: S307
    ],
)
def test_a_state_that_cannot_be_named_is_refused(program: Any, arguments: tuple[Any, ...], why: str) -> None:
    """Its stack holds what no local tells."""
    generator = program(*arguments)
    next(generator)
    with pytest.raises(ProtocolBug, match=why):
        signature(generator)


def twice(a: int) -> Iterator[Any]:
    b = yield a; yield b  # fmt: skip  # noqa: E702
    yield a


def test_without_columns_a_line_with_one_yield_is_a_place() -> None:
    """As under PYTHONNODEBUGRANGES."""
    code = twice.__code__
    made = _Function(code)
    instructions = [place for place, span in enumerate(made.spans) if span in made.places]
    assert {made.at(2 * place).number for place in instructions} == {1, 2, 3}
    made.spans = [(line, end, None, None) for line, end, *_ in made.spans]
    assert made.at(2 * instructions[-1]).number == 3
    with pytest.raises(ProtocolBug, match="which yield of line"):
        made.at(2 * instructions[0])
