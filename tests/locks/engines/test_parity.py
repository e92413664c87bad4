"""Clients and engines for threads and for tasks have the same names, parameters, defaults and texts."""

from __future__ import annotations

import inspect
import re

import pytest

import vez
import vez.aio
from vez.locks.engines.local.task_engine import LocalAsyncEngine
from vez.locks.engines.local.thread_engine import LocalEngine
from vez.locks.engines.seam import AsyncEngine, AsyncHolding, Engine, Holding
from vez.locks.turns import aio, client, task_leading, thread_leading
from vez.locks.turns.task_watched import AsyncEntry, AsyncWatched, WatchedAsyncEngine
from vez.locks.turns.thread_watched import Entry, Watched, WatchedEngine

DIFFER = {
    ("Client", "__doc__"), ("Lock", "__doc__"), ("Election", "__doc__"), ("Grant", "__doc__"),  # `with`, `async with`
    ("Lock", "acquire"), ("Lock", "release"), ("Lock", "owned"), ("Election", "acquire"),  # who holds: a thread, a task
    ("Grant", "wait_lost"),  # threads look, tasks are told
}  # fmt: skip
"""Members whose texts may differ. The comments say why."""
CLASSES = ("Client", "Lock", "Election", "Grant", "Leadership")
SEAM: dict[tuple[type, type], set[str]] = {
    (Engine, AsyncEngine): {"abandon"},  # an engine for tasks can outlive its event loop
    (LocalEngine, LocalAsyncEngine): {"abandon"},
    (Holding, AsyncHolding): set(),
    (WatchedEngine, WatchedAsyncEngine): set(),
    (Watched, AsyncWatched): set(),
    (Entry, AsyncEntry): set(),
    (thread_leading.Leading, task_leading.Leading): set(),
}
"""The interfaces of engines and their implementations, for threads and for tasks, with the names that only tasks
have."""


def public(kind: type) -> dict[str, object]:
    """Methods and properties, and the attributes that objects have: from `__slots__` or from annotations."""
    attributes = {
        name for base in kind.__mro__ for name in (*inspect.get_annotations(base), *vars(base).get("__slots__", ()))
    }
    found = dict.fromkeys(attributes) | {
        name: made for name in dir(kind) if not inspect.ismemberdescriptor(made := inspect.getattr_static(kind, name))
    }
    return {name: made for name, made in found.items() if not name.startswith("_")}


def parameters(function: object) -> list[tuple[str, object, object]]:
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", CLASSES)
def test_both_have_the_same_names(kind: str) -> None:
    mine, theirs = public(getattr(client, kind)), public(getattr(aio, kind))
    assert mine.keys() == theirs.keys()


@pytest.mark.parametrize("kind", CLASSES)
def test_both_have_the_same_parameters_and_defaults(kind: str) -> None:
    mine, theirs = public(getattr(client, kind)), public(getattr(aio, kind))
    compared = 0
    for name in mine.keys() & theirs.keys():
        if inspect.isfunction(mine[name]) or inspect.isfunction(theirs[name]):
            assert parameters(mine[name]) == parameters(theirs[name]), name
            compared += 1
        else:
            assert type(mine[name]) is type(theirs[name]), name
    assert compared >= 3


@pytest.mark.parametrize("kind", CLASSES)
def test_both_have_the_same_texts(kind: str) -> None:
    mine, theirs = public(getattr(client, kind)), public(getattr(aio, kind))
    for name in mine.keys() & theirs.keys():
        if mine[name] is None:
            continue
        ours, others = inspect.getdoc(mine[name]), inspect.getdoc(theirs[name])
        if (kind, name) in DIFFER or any((base, name) in DIFFER for base in ("Lock", "Grant")):
            assert ours
            assert others
        else:
            assert re.sub(r"\s+", " ", ours or "") == re.sub(r"\s+", " ", others or ""), name


def test_the_functions_of_the_modules_take_what_the_methods_take() -> None:
    for module in (vez, vez.aio):
        assert parameters(module.lock) == parameters(module.Client.lock)[1:]
        assert parameters(module.connect) == parameters(vez.connect)


@pytest.mark.parametrize(("threads", "tasks"), SEAM)
def test_both_sides_of_the_seam_have_the_same_names_parameters_and_texts(threads: type, tasks: type) -> None:
    mine, theirs = public(threads), public(tasks)
    assert mine.keys() == theirs.keys() - SEAM[threads, tasks]
    assert SEAM[threads, tasks] <= theirs.keys()
    compared = 0
    for name in mine:
        one, other = mine[name], theirs[name]
        if inspect.isfunction(one):
            assert parameters(one) == parameters(other), name
            assert inspect.signature(one).return_annotation == returned(other), name
        compared += one is not None
        assert plain(one) == plain(other), name
    assert compared >= 2


def plain(made: object) -> str:
    return re.sub(r"\s+", " ", inspect.getdoc(made) or "") if callable(made) or isinstance(made, property) else ""


def returned(function: object) -> str:
    """The type that it returns, with the names for threads in place of those for tasks."""
    found = str(inspect.signature(function).return_annotation)  # type: ignore[arg-type]
    return found.replace("AsyncHolding", "Holding").replace("AsyncIterator", "Iterator")


@pytest.mark.parametrize("kind", [AsyncEngine, LocalAsyncEngine])
def test_everything_that_an_engine_for_tasks_does_is_awaited(kind: type) -> None:
    """All but `abandon`, which has no loop to wait in; `observe` is iterated over."""
    functions = {name: made for name, made in public(kind).items() if inspect.isfunction(made)}
    plain_ones = {name for name, made in functions.items() if not inspect.iscoroutinefunction(made)}
    assert plain_ones == {"abandon", "observe"}


def test_unknown_options_are_refused_in_the_name_of_what_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = client.connect("memory:unknown-options")
    monkeypatch.setattr("vez.locks.turns.client._default", threads)
    for makes in (threads, aio.connect("memory:unknown-options")):
        for called, more in (
            ("lock", ()),
            ("read_lock", ()),
            ("write_lock", ()),
            ("semaphore", (2,)),
            ("election", ()),
        ):
            with pytest.raises(TypeError, match=rf"^{called}\(\) got an unexpected keyword argument 'patience'$"):
                getattr(makes, called)("x", *more, patience=3)
        for called in ("read_lock", "write_lock"):
            with pytest.raises(TypeError, match=rf"^{called}\(\) got an unexpected keyword argument 'shared': "):
                getattr(makes, called)("x", shared=True)
    for module in (vez, vez.aio):
        with pytest.raises(TypeError, match=r"^lock\(\) got an unexpected keyword argument 'patience'$"):
            module.lock("x", patience=3)
