"""Wrong arguments are `Misuse` on every engine, before anything is asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import vez
import vez.aio
from vez.errors import Misuse

pytest.importorskip("h11")

LOOKS = [
    ("locks", (5,), "a prefix is a text"),
    ("locks", (None,), "a prefix is a text"),
    ("locks", ("", "foo"), "there is no kind 'foo'"),
    ("prune", (5,), "a prefix is a text"),
    ("prune", (b"x",), "a prefix is a text"),
    ("inspect", (["x"],), "a name must be text"),
    ("inspect", ("x", "foo"), "there is no kind 'foo'"),
    ("inspect", ("x", ["lock"]), "there is no kind"),
    ("break_lock", ("x", "why", "foo"), "there is no kind 'foo'"),
    ("break_lock", ("x", 5), "a reason is a text"),
]
MAKES: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("lock", ("x",), {"grace": "1"}, "a grace is a number of seconds"),
    ("lock", ("x",), {"grace": [1]}, "a grace is a number of seconds"),
    ("lock", ("x",), {"grace": float("nan")}, "a grace is a number of seconds"),
    ("lock", (["x"],), {}, "a name must be text"),
    ("lock", ("x",), {"label": ["x"]}, "a label is a text"),
    ("lock", ("x",), {"on_wait": 5}, "on_wait is a function"),
    ("semaphore", ("x", 2), {"grace": "1"}, "a grace is a number of seconds"),
    ("semaphore", ("x", "2"), {}, "a semaphore's limit is a number"),
    ("election", ("x",), {"grace": {}}, "a grace is a number of seconds"),
    ("election", ("x",), {"weight": "1"}, "a weight is a whole number"),
]


@pytest.fixture(params=["file", "memory", "etcd"])
def url(request: pytest.FixtureRequest, home: Path) -> str:
    """No server is needed: a wrong argument is refused before anything is sent."""
    return {"file": f"file://{home}", "memory": f"memory:{home.parent.name}", "etcd": "etcd://127.0.0.1:1"}[
        request.param
    ]


@pytest.mark.parametrize(("method", "given", "words"), LOOKS)
def test_what_is_looked_for(url: str, method: str, given: tuple[Any, ...], words: str) -> None:
    with vez.connect(url) as client, pytest.raises(Misuse, match=words):
        getattr(client, method)(*given)

    async def run() -> None:
        async with vez.aio.connect(url) as tasks:
            await getattr(tasks, method)(*given)

    with pytest.raises(Misuse, match=words):
        asyncio.run(run())


@pytest.mark.parametrize(("method", "given", "options", "words"), MAKES)
def test_what_is_asked_for(url: str, method: str, given: tuple[Any, ...], options: dict[str, Any], words: str) -> None:
    with vez.connect(url) as client, pytest.raises(Misuse, match=words):
        getattr(client, method)(*given, **options)

    async def run() -> None:
        async with vez.aio.connect(url) as tasks:
            getattr(tasks, method)(*given, **options)

    with pytest.raises(Misuse, match=words):
        asyncio.run(run())
