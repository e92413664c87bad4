"""All rows of the verification matrix, one after another; rows that an earlier call finished are not checked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from vez.core.process import Process
from vez.study.verify.finished_rows import Kept
from vez.study.verify.matrix import FEWEST, Row, commanded, configuration, filled, row, worlds
from vez.study.verify.world import World
from vez.worlds.check import Progress


class At(NamedTuple):
    """The progress of a call of `verify`."""

    done: int
    """Number of finished worlds."""
    words: str
    """The current check, in words."""
    search: Progress | None = None


class Question(NamedTuple):
    """An algorithm in a world."""

    name: str
    algorithm: type[Process]
    world: World

    @property
    def n(self) -> int:
        """The number of processes of the first try."""
        return len(configuration(*self).ids)

    def fewer(self, found: Row) -> bool:
        """True if two processes should be tried as well, because too much is undecided."""
        small = found.n > FEWEST >= self.algorithm.smallest()
        return small and not found.settled and self.algorithm.topology.name != "graph"


def questions(algorithms: Mapping[str, type[Process]]) -> list[Question]:
    """All questions about the algorithms: each algorithm in all its worlds."""
    return [
        Question(name, algorithm, world) for name, algorithm in algorithms.items() for world in worlds(name, algorithm)
    ]


def verify(
    asked: list[Question],
    max_states: int,
    *,
    kept: Kept | None = None,
    jobs: int = 0,
    watch: Callable[[At], None] = lambda at: None,
) -> Iterator[Row]:
    """Check one question after another.

    Raises KeyboardInterrupt if a search was interrupted; `kept` has the rows that were finished before.
    """

    def answer(question: Question, n: int, done: int) -> Row:
        name, algorithm, world = question
        old = kept.find(commanded(name, world, n)) if kept is not None else None
        if old is not None:
            return filled(name, algorithm, world, n, old.states, old.cells)
        words = f"{name}: {world.name}"
        watch(At(done, words))
        found = row(
            name, algorithm, world, max_states, n=n, jobs=jobs, watch=lambda search: watch(At(done, words, search))
        )
        if kept is not None:
            kept.add(found)
        return found

    for done, question in enumerate(asked):
        found = answer(question, question.n, done)
        yield found
        if question.fewer(found):
            yield answer(question, FEWEST, done)
