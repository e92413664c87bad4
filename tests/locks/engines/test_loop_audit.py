"""What the thread of an event loop does while tasks use a client: no file is opened, no name looked up, nothing slept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import trustme

import vez
import vez.aio
from tests.expectations import eventually_in_task
from tests.locks.etcd.conftest import started
from tests.locks.peers.groups import CALM, key_file, places
from vez.errors import EngineUnavailable, Misuse, VezError
from vez.testing.servers import EtcdServer, free_port

BLOCKING = {
    "posix": {"access", "fdatasync", "fsync", "listdir", "lstat", "mkdir", "open", "readlink", "rename", "replace",
              "rmdir", "scandir", "stat", "statvfs", "unlink", "waitpid"},
    "_io": {"open", "open_code"},
    "io": {"open", "open_code"},
    "_socket": {"getaddrinfo", "gethostbyname", "getnameinfo"},
    "time": {"sleep"},
}  # fmt: skip
METHODS = {"load_verify_locations", "set_default_verify_paths", "load_cert_chain"}
"""Functions of C that read from a disk, ask a server for a name, or sleep."""
CHECKED = "posix.stat in mapped_file.py:elsewhere"
"""The check of `file:`, at each grant, that its file was not replaced. Files of local directories that are in use are
in the cache of the kernel; network file systems are refused."""


class Audit:
    """Notes the blocking functions that are called in this thread. Imports are left out: each happens once."""

    def __init__(self) -> None:
        self.called = set[str]()

    def __call__(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or "importlib" in frame.f_code.co_filename:
            return
        module, name = getattr(function, "__module__", None) or "", function.__name__
        if name in BLOCKING.get(module, ()) or (name in METHODS and not module):
            here = Path(frame.f_code.co_filename)
            self.called.add(f"{module or 'a method'}.{name} in {here.name}:{frame.f_code.co_name}")


async def first(leaders: Any) -> Any:
    try:
        return await anext(leaders)
    finally:
        await leaders.aclose()


async def take(client: vez.aio.Client, seconds: float) -> None:
    grant = await client.lock("x", on_wait=lambda _: None).acquire(seconds)
    await grant.release()


async def use_everything(url: str) -> None:
    """All calls of a client, as far as its engine has them."""
    client, other = vez.aio.connect(url), vez.aio.connect(url)
    lock, kinds = client.lock("x", timeout=30), []
    with contextlib.suppress(Misuse):
        async with lock as grant:
            kinds.append("lock")
            grant.check()
            assert await lock.locked()
            for seconds in (0, 0.05):
                with pytest.raises(vez.LockTimeout):
                    await asyncio.create_task(take(other, seconds))
            waiter = asyncio.create_task(take(other, 30))
            await asyncio.sleep(0.05)  # it waits, while this task asks for another lock
            async with client.lock("y", timeout=30):
                pass
        await waiter
    for use in (
        lambda: client.lock("r", shared=True, timeout=30).__aenter__(),
        lambda: client.semaphore("s", 2, timeout=30).__aenter__(),
        lambda: client.lock("again", reentrant=True, timeout=30).every("1d")(asyncio.sleep)(0),
        lambda: client.election("e", timeout=30, label="one").__aenter__(),
        lambda: first(client.election("e").observe(1)),
        lambda: client.inspect("x"),
        lambda: client.inspect("e", "election"),
        lambda: client.locks(""),
        lambda: client.locks("", "election"),
        lambda: client.prune(),
        lambda: client.break_lock("x", "a test"),
        lambda: client.engine.memo("memo"),
        lambda: client.engine.write_memo("memo", "text", 1 << 60),
    ):
        with contextlib.suppress(Misuse):
            await use()
            kinds.append("use")
    await other.close()
    await client.close()
    assert len(kinds) > 3


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdServer]:
    yield from started("system")


@pytest.fixture(params=["file", "memory", "etcd", "coordinator-lease", "majority"])
def where(request: pytest.FixtureRequest, home: Path) -> Iterator[str]:
    match request.param:
        case "file":
            yield f"file://{home}"
        case "memory":
            yield "memory:audit"
        case "etcd":
            yield f"{request.getfixturevalue('etcd').url}/audit"
        case algorithm:
            options = CALM | ({"time_scale": 50} if algorithm == "majority" else {"lease_ms": 1000})
            with places(3) as made, contextlib.ExitStack() as others:
                urls = [made.url(me, algorithm, state=made.folder / f"state{me}", **options) for me in made.ids]
                for url in urls[:2]:
                    others.enter_context(vez.connect(url))
                yield urls[2]


def audited(use: Callable[[], Coroutine[Any, Any, None]]) -> set[str]:
    """What is called in the thread of the loop by the second use; the first one imports modules."""
    audit = Audit()

    async def run() -> None:
        await use()
        sys.setprofile(audit)
        try:
            await use()
        finally:
            sys.setprofile(None)

    asyncio.run(run())
    return audit.called


def test_the_loop_blocks_on_nothing(where: str) -> None:
    assert audited(lambda: use_everything(where)) <= {CHECKED}


def test_the_audit_sees_what_blocks(tmp_path: Path) -> None:
    async def block() -> None:
        (tmp_path / "file").write_text("text")
        (tmp_path / "file").stat()
        ssl.create_default_context()

    found = " ".join(audited(block))
    assert all(name in found for name in ("io.open ", "posix.stat ", "set_default_verify_paths "))


ALGORITHM = """
from vez.catalogue.mutex.ricart_agrawala import RicartAgrawala


class Mine(RicartAgrawala):
    name = "mine"
"""


@pytest.mark.parametrize(
    "url",
    [
        "etcd://127.0.0.1:PORT?ca=FOLDER/ca.pem",
        "etcd://127.0.0.1:PORT?ca=FOLDER/ca.pem&cert=FOLDER/one.pem&key=FOLDER/one.key",
        "etcd://user@127.0.0.1:PORT?password-file=FOLDER/password",
        "peers://127.0.0.1:PORT,127.0.0.1:1?algorithm=lamport&me=1&key_file=FOLDER/group.key",
        "peers:FOLDER/group.toml?algorithm=lamport&me=1",
        "peers://unix:FOLDER/1,unix:FOLDER/2?algorithm=FOLDER/mine.py:Mine&me=1",
        "file://FOLDER/turns",
    ],
)
def test_files_of_a_url_are_read_beside_the_loop(url: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "one.pem")
    issued.private_key_pem.write_to_path(tmp_path / "one.key")
    (tmp_path / "password").write_text("secret")
    (tmp_path / "mine.py").write_text(ALGORITHM)
    key_file(tmp_path)
    port = free_port()
    (tmp_path / "group.toml").write_text(
        f'key_file = "group.key"\n[nodes]\n1 = "127.0.0.1:{port}"\n2 = "127.0.0.1:1"\n'
    )
    where = url.replace("PORT", str(port)).replace("FOLDER", str(tmp_path))

    async def use() -> None:
        async with vez.aio.connect(where) as client:
            for _ in range(2):
                with contextlib.suppress(VezError):
                    await client.lock("x").acquire(0.05)

    assert audited(use) <= {CHECKED}


def test_a_file_that_blocks_keeps_no_loop_and_no_timeout(etcd: EtcdServer, tmp_path: Path) -> None:
    """The password comes through a pipe, and late."""
    os.mkfifo(pipe := tmp_path / "password")
    written = threading.Event()

    def write() -> None:
        pipe.write_text("secret\n")
        written.set()

    async def run() -> None:
        async with vez.aio.connect(f"etcd://user@{etcd.endpoint}?password-file={pipe}") as client:
            with pytest.raises(EngineUnavailable, match="could not be read in time"):
                await client.lock("x").acquire(0.05)
            waiter = asyncio.create_task(client.lock("x").acquire(30))
            for _ in range(100):
                await asyncio.sleep(0)
                assert not waiter.done()
            threading.Thread(target=write).start()
            with pytest.raises(EngineUnavailable, match="authentication is not enabled"):
                await waiter
            await eventually_in_task(written.is_set)

    asyncio.run(run())
