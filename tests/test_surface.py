"""The public surface: the names, their signatures, and the output of `dir` and completion."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from rlcompleter import Completer
from types import ModuleType
from typing import Any

import pytest

import vez
import vez.aio
import vez.algorithms
import vez.check
import vez.core
import vez.detectors
import vez.draw
import vez.errors
import vez.fence
import vez.metrics
import vez.properties
import vez.sim
import vez.testing
import vez.validate
from vez.locks.engines import ENGINES
from vez.locks.engines.memory import open_async_engine, open_engine
from vez.locks.engines.urls import without_password

SURFACE = Path(__file__).with_name("surface.txt")
MODULES = [
    vez, vez.aio, vez.core, vez.fence, vez.testing, vez.sim, vez.properties, vez.draw, vez.check, vez.validate,
    vez.algorithms, vez.detectors, vez.metrics,
]  # fmt: skip


def public(module: ModuleType) -> list[str]:
    return sorted(name for name in module.__all__ if not name.startswith("_"))


def described(name: str, value: Any, shown: set[type]) -> Iterator[str]:
    """A name with its members, one line each. Members that a class inherits from a class in the list are left out."""
    if inspect.ismodule(value):
        yield f"module {name}"
    elif isinstance(value, type):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        yield f"class {name}({bases})" if bases else f"class {name}"
        yield from (f"    {line}" for line in members(value, shown - {value}))
    elif inspect.isroutine(value):
        yield name + signature(value)
    else:
        yield f"type {name}"


def members(kind: type, shown: set[type]) -> Iterator[str]:
    own = [base for base in kind.__mro__ if base.__module__.startswith("vez") and base not in shown]
    found = {name for base in own for name in (*vars(base), *inspect.get_annotations(base))}
    for name in sorted(name for name in found if not name.startswith("_")):
        value = inspect.getattr_static(kind, name, None)
        if isinstance(value, Enum):
            yield f"{name} = {value.value!r}"
        elif isinstance(value, staticmethod | classmethod) or inspect.isfunction(value):
            yield ("async " if inspect.iscoroutinefunction(value) else "") + name + signature(getattr(kind, name))
        else:
            yield name


def signature(function: Callable[..., Any]) -> str:
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    return text.replace("(self, ", "(").replace("(self)", "()")


def surface() -> str:
    lines = []
    for module in MODULES:
        shown = {value for name in public(module) if isinstance(value := getattr(module, name), type)}
        lines += [module.__name__, "-" * len(module.__name__)]
        for name in public(module):
            lines += described(name, getattr(module, name), shown)
        lines.append("")
    lines += ["vez.errors", "----------"]
    for name in sorted(vars(vez.errors)):
        value = getattr(vez.errors, name)
        if isinstance(value, type) and issubclass(value, vez.VezError):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            lines.append(f"class {name}({bases})  exit code {value.exit_code}")
    return "\n".join(lines) + "\n"


def test_the_surface_is_the_one_that_was_agreed_on(golden: Callable[[Path, str], None]) -> None:
    """A line that is removed or changed breaks programs: docs/reference/compatibility.md says when that is allowed."""
    golden(SURFACE, surface())


@pytest.mark.parametrize("module", [*MODULES, vez.errors], ids=lambda module: module.__name__)
def test_dir_and_completion_show_the_public_names_and_nothing_else(module: ModuleType) -> None:
    assert [name for name in dir(module) if not name.startswith("_")] == public(module)
    assert all(getattr(module, name) is not None for name in module.__all__)
    completer, found = Completer({"module": module}), list[str]()
    while (word := completer.complete("module.", len(found))) is not None:
        found.append(word)
    assert sorted(word.removeprefix("module.").rstrip("()") for word in found) == public(module)


def test_what_earlier_pages_import_from_the_scenario_still_works() -> None:
    program = "from vez.sim.scenario import Want, Scenario; from vez.sim import Want as same; print(Want is same)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n"


def test_dir_is_the_same_before_anything_is_loaded() -> None:
    program = "import sys, vez; print(*dir(vez)); print('vez.locks.turns.client' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == [*dir(vez), "False"]


@pytest.mark.parametrize("name", [name for name in vez.__all__ if name not in ("__version__",)])
def test_every_name_has_a_docstring(name: str) -> None:
    assert getattr(vez, name).__doc__


def test_repr_of_a_client_a_lock_and_a_grant() -> None:
    client = vez.connect("memory:repr")
    lock = client.lock("nightly")
    assert repr(client) == "<vez.Client memory:repr, open>"
    assert repr(lock) == "<vez.Lock lock 'nightly', exclusive, at memory:repr, not held>"
    assert repr(client.lock("r", shared=True)) == "<vez.Lock lock 'r', shared, at memory:repr, not held>"
    assert repr(client.semaphore("s", 3)) == "<vez.Lock semaphore 's', limit 3, at memory:repr, not held>"
    grant = lock.acquire()
    assert repr(grant) == f"<vez.Grant 'nightly', token {grant.token}, held>"
    assert repr(lock).endswith(f", at memory:repr, held by this thread, token {grant.token}>")
    seen = asyncio.run(asyncio.to_thread(repr, lock))
    assert seen.endswith(", held by another thread>")
    client.break_lock("nightly", "for the test")
    assert repr(grant) == f"<vez.Grant 'nightly', token {grant.token}, lost>"
    with pytest.raises(vez.OwnershipLost):
        grant.release()
    assert repr(grant) == f"<vez.Grant 'nightly', token {grant.token}, lost>"
    with lock as later:
        pass
    assert repr(later) == f"<vez.Grant 'nightly', token {later.token}, released>"
    assert repr(lock).endswith(", not held>")
    election = client.election("e", weight=2)
    assert repr(election) == "<vez.Election election 'e', weight 2, at memory:repr, not held>"
    with election as leadership:
        assert repr(leadership) == f"<vez.Leadership 'e', term {leadership.term}, held>"
    client.close()
    assert repr(client) == "<vez.Client memory:repr, closed>"


def test_repr_for_tasks() -> None:
    async def run() -> vez.aio.Lock:
        async with vez.aio.connect("memory:repr-aio") as client:
            lock = client.lock("nightly")
            assert repr(client) == "<vez.aio.Client memory:repr-aio, open>"
            async with lock as grant:
                assert repr(grant) == f"<vez.aio.Grant 'nightly', token {grant.token}, held>"
                assert repr(lock).endswith(f", held by this task, token {grant.token}>")
                other = await asyncio.create_task(_repr(lock))
                assert other.endswith(", held by another task>")
            async with client.election("e") as leadership:
                assert repr(leadership) == f"<vez.aio.Leadership 'e', term {leadership.term}, held>"
            return lock

    lock = asyncio.run(run())
    assert repr(lock) == "<vez.aio.Lock lock 'nightly', exclusive, at memory:repr-aio, not held>"


async def _repr(value: object) -> str:
    return repr(value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://me:s3cret@host:6379/0", "redis://me:***@host:6379/0"),
        ("redis://:s3cret@host", "redis://:***@host"),
        ("redis://:s3/c@r:et@host/0", "redis://:***@host/0"),
        ("postgresql://host/db?user=me&password=s3cret", "postgresql://host/db?user=me&password=***"),
        ("etcd://host?auth_token=s3cret&x=1#s", "etcd://host?auth_token=***&x=1#s"),
        ("file:///tmp/turns", "file:///tmp/turns"),
        ("memory:", "memory:"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert without_password(url) == shown
    client = vez.Client(open_engine(url))
    asynchronous = vez.aio.Client(open_async_engine(url))
    for text in map(repr, (client, client.lock("x"), client.election("x"), asynchronous, asynchronous.lock("x"))):
        assert shown in text
        assert "s3" not in text


def test_an_error_about_a_url_does_not_show_its_password() -> None:
    with pytest.raises(vez.VezError) as caught:
        vez.connect("file://me:s3cret@host/turns")
    assert "s3cret" not in str(caught.value)
    assert "'host'" in str(caught.value)


def test_the_modules_of_the_surface_are_those_that_are_documented() -> None:
    page = (Path(__file__).parent.parent / "docs/reference/compatibility.md").read_text(encoding="utf-8")
    for module in MODULES:
        assert f"`{module.__name__}`" in page
    assert set(ENGINES) >= {"file", "memory"}
    assert all(importlib.import_module(module.__name__) is module for module in MODULES)
