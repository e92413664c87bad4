"""The recipe of a memo, against the model of the server: every order of two writers, with lost, dropped and late calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import Answer, Call, Elapsed, Recipe, Unknown
from vez.locks.recipes.etcd import memo
from vez.locks.recipes.etcd.memo import Memo
from vez.locks.recipes.etcd.operations import Compare, Delete, Entry, Put, Txn

KEY = "vez/memos/lock/x"
MEMOS = (Memo(5, "of the first holder"), Memo(7, "of the second holder"))
Write = Callable[[str, str, int, str | None], Recipe[int | None]]


class Choice(NamedTuple):
    """What happens next: a call of a writer meets a fate, or a late request arrives."""

    writer: int
    fate: str


class World:
    """The server and the writers after some choices."""

    def __init__(self, write: Write, choices: tuple[Choice, ...]) -> None:
        self.store, self.late, self.ended = Store(exact=True), list[Any](), dict[int, int | None]()
        self.writers = [write("lock", "x", one.token, one.text) for one in MEMOS]
        self.waiting: dict[int, Call] = {}
        for number in range(len(self.writers)):
            self.send(number, None)
        for choice in choices:
            self.take(choice)

    def take(self, choice: Choice) -> None:
        if choice.fate == "arrives":
            self.execute(self.late.pop(choice.writer))
            return
        request, reply = self.waiting.pop(choice.writer).request, Unknown()
        if choice.fate == "late":
            self.late.append(request)
        elif choice.fate != "dropped":
            answer = self.execute(request)
            if choice.fate == "answered":
                self.send(choice.writer, answer)
                return
        self.send(choice.writer, reply)

    def execute(self, request: Any) -> Answer:
        before = self.newest()
        self.store, answer = self.store.execute(request)
        assert isinstance(answer, Answer)
        assert self.newest() >= before, "a stale holder has replaced what a later one wrote"
        return answer

    def newest(self) -> int:
        """The token with which the memo was written."""
        entry = self.store.get(KEY)
        return 0 if entry is None else memo._memo(entry).token

    def send(self, writer: int, reply: Any) -> None:
        """Let a writer go on until its next call or its end."""
        try:
            step = self.writers[writer].send(reply)
            while not isinstance(step, Call):
                step = self.writers[writer].send(Elapsed())
            self.waiting[writer] = step
        except StopIteration as end:
            self.ended[writer] = end.value
            self.judge(writer, end.value)

    def judge(self, writer: int, newer: int | None) -> None:
        """Check what was written, at the end of a writer that was told of the newer token."""
        token = MEMOS[writer].token
        assert self.newest() >= token if newer is None else self.newest() >= newer > token

    def choices(self, faults: int) -> Iterator[Choice]:
        for writer in sorted(self.waiting):
            yield Choice(writer, "answered")
            if faults:
                for fate in ("lost", "dropped", "late"):
                    yield Choice(writer, fate)
        for number in range(len(self.late)):
            yield Choice(number, "arrives")


def explore(write: Write, faults: int, world: type[World] = World) -> int:
    """Follow every run. Returns their number."""
    runs = 0
    todo: list[tuple[tuple[Choice, ...], int]] = [((), faults)]
    while todo:
        taken, left = todo.pop()
        reached = world(write, taken)
        following = list(reached.choices(left))
        runs += not following
        assert following or sorted(reached.ended) == [0, 1]
        todo += [((*taken, one), left - (one.fate in ("lost", "dropped", "late"))) for one in following]
    return runs


@pytest.mark.parametrize(("faults", "runs"), [(0, 6), (1, 419), pytest.param(2, 29_085, marks=pytest.mark.long)])
def test_a_later_holder_is_never_overwritten_and_every_success_is_true(faults: int, runs: int) -> None:
    assert explore(memo.write, faults) == runs


def test_a_write_without_a_condition_is_caught() -> None:
    def naive(kind: str, name: str, token: int, text: str | None) -> Recipe[int | None]:
        before = yield from memo.read(kind, name)
        if before is not None and before.token > token:
            return before.token
        yield Call(Txn((), (Put(KEY, f'{{"token":{token},"text":""}}'),)))
        return None

    with pytest.raises(AssertionError, match="replaced"):
        explore(naive, 0)


def test_a_lost_reply_taken_for_a_success_is_caught() -> None:
    def naive(kind: str, name: str, token: int, text: str | None) -> Recipe[int | None]:
        before = yield from memo.read(kind, name)
        if before is not None and before.token > token:
            return before.token
        yield Call(Txn((Compare(KEY, "mod", 0),), (Put(KEY, f'{{"token":{token},"text":""}}'),)))
        return None

    with pytest.raises(AssertionError):
        explore(naive, 1)


# A removal, by `vez prune`, and a later holder that writes


class Pruned(World):
    """A memo that was written with token 5 is removed with token 7, while a later holder writes with token 9."""

    def __init__(self, write: Write, choices: tuple[Choice, ...]) -> None:
        self.written = False
        self.store = Store(exact=True)
        self.finish(write("lock", "x", 5, "of the past"))
        self.late, self.ended, self.waiting = list[Any](), dict[int, int | None](), dict[int, Call]()
        self.writers = [write("lock", "x", 7, None), write("lock", "x", 9, "of the present")]
        for number in range(len(self.writers)):
            self.send(number, None)
        for choice in choices:
            self.take(choice)
        if not self.waiting and not self.late:
            assert self.newest() == 9

    def finish(self, writer: Recipe[int | None]) -> None:
        """Run a recipe alone."""
        reply: Any = None
        with suppress(StopIteration):
            while isinstance(step := writer.send(reply), Call):
                self.store, reply = self.store.execute(step.request)

    def execute(self, request: Any) -> Answer:
        self.store, answer = self.store.execute(request)
        assert isinstance(answer, Answer)
        assert not self.written or self.newest() == 9, "a removal has taken what a later holder wrote"
        self.written = self.newest() == 9
        return answer

    def judge(self, writer: int, newer: int | None) -> None:
        if writer == 1:
            assert self.newest() == 9
        else:
            assert newer in (None, 9)
            assert self.newest() in (0, 9)


@pytest.mark.parametrize("faults", [0, 1, pytest.param(2, marks=pytest.mark.long)])
def test_a_removal_takes_nothing_that_a_later_holder_wrote(faults: int) -> None:
    assert explore(memo.write, faults, Pruned) > 2


def test_a_removal_without_a_condition_is_caught() -> None:
    def naive(kind: str, name: str, token: int, text: str | None) -> Recipe[int | None]:
        if text is not None:
            return (yield from memo.write(kind, name, token, text))
        before = yield from memo.read(kind, name)
        if before is not None and before.token > token:
            return before.token
        yield Call(Txn((), (Delete(KEY),)))
        return None

    with pytest.raises(AssertionError, match="a removal has taken"):
        explore(naive, 0, Pruned)


@pytest.mark.parametrize("value", ["", "text", "\ud800", '{"token":"x"}'], ids=ascii)
def test_what_vez_has_not_written_has_the_lowest_token(value: str) -> None:
    assert memo._memo(Entry(KEY, value, 1, 1)) == Memo(0, value)
