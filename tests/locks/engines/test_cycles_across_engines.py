"""Cycles of waits through several clients, directories, engines and kinds of owner: one request is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

import vez
import vez.aio
from tests.expectations import eventually_in_task
from vez.testing import eventually

_spaces = count()
Starting = Callable[..., subprocess.Popen[str]]
HOLD_ONE_AND_ASK = """
import vez
first, second = vez.connect("file://{0}"), vez.connect("file://{1}")
try:
    with first.lock("x"):
        print("held", flush=True)
        input()
        print("asks", flush=True)
        with second.lock("x", timeout=60):
            print("in", flush=True)
except vez.Deadlock as error:
    print("refused", len(error.cycle), flush=True)
"""


def take_both(client: vez.Client, name: str, other: vez.Client, wanted: str, held: threading.Barrier) -> str:
    """Hold one name, and ask for another when all hold theirs. Returns the outcome."""
    try:
        with client.lock(name):
            held.wait(60)
            with other.lock(wanted, timeout=60):
                return "in"
    except vez.Deadlock as error:
        return f"refused {len(error.cycle)}"


def ring(clients: Sequence[vez.Client], names: Sequence[str]) -> list[str]:
    """Each client holds one name and asks for the next. Returns the outcomes."""
    size, held = len(names), threading.Barrier(len(names))
    with ThreadPoolExecutor(size) as pool:
        ends = [
            pool.submit(take_both, clients[at], names[at], clients[(at + 1) % size], names[(at + 1) % size], held)
            for at in range(size)
        ]
        return sorted(end.result(60) for end in ends)


def one_refused(size: int) -> list[str]:
    return ["in"] * (size - 1) + [f"refused {size}"]


def test_one_directory_spelled_in_several_ways(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "dots").mkdir()
    urls = [f"file://{tmp_path}{way}/turns" for way in ("", "/link", "/dots/..")]
    clients = [vez.connect(url) for url in urls]
    assert ring(clients, ["a", "b", "c"]) == one_refused(3)
    with clients[0].lock("x"), pytest.raises((vez.Deadlock, vez.AlreadyHeld)):
        clients[1].lock("x", timeout=20).acquire()


@pytest.mark.parametrize("urls", [
    ("file://{home}/one", "file://{home}/two"), ("file://{home}/one", "memory:cycle-{n}"),
    ("memory:cycle-{n}", "memory:other-{n}"), ("file://{home}/one", "file://{home}/two", "memory:cycle-{n}"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["x", "different"])
def test_engines_of_one_process(tmp_path: Path, urls: tuple[str, ...], name: str) -> None:
    clients = [vez.connect(url.format(home=tmp_path, n=next(_spaces))) for url in urls]
    names = [name if name == "x" else f"{name}-{at}" for at in range(len(urls))]
    assert ring(clients, names) == one_refused(len(urls))


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_long_cycles(tmp_path: Path, kind: str) -> None:
    size = 100
    url = f"file://{tmp_path}/turns" if kind == "file" else f"memory:long-{next(_spaces)}"
    with vez.connect(url) as client:
        assert ring([client] * size, [f"n{at}" for at in range(size)]) == one_refused(size)


@pytest.fixture
def start() -> Iterator[Starting]:
    started: list[subprocess.Popen[str]] = []

    def one(program: str, inside: Sequence[str] = ()) -> subprocess.Popen[str]:
        command = [*inside, sys.executable, "-c", program]
        started.append(subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.parametrize("size", [2, 3])
def test_directories_of_several_processes(tmp_path: Path, start: Starting, size: int) -> None:
    """Each process knows two directories; the path of the others is in those that it knows."""
    homes = [f"{tmp_path}/{at}" for at in range(size)]
    processes = [start(HOLD_ONE_AND_ASK.format(homes[at], homes[(at + 1) % size])) for at in range(size)]
    assert ends_of(processes) == ["asks\nin\n"] * (size - 1) + [f"asks\nrefused {size}\n"]


def ends_of(processes: Sequence[subprocess.Popen[str]], *, asked: bool = False) -> list[str]:
    """The outputs of the processes when all hold theirs and ask for the other, in order."""
    if not asked:
        for process in processes:
            until_held(process)
        for process in processes:
            let_ask(process)
    return sorted(process.communicate(timeout=60)[0] for process in processes)


def until_held(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"


def let_ask(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def seeing(*mounts: tuple[Path, Path]) -> list[str]:
    """The prefix for a command in a container that sees the first directory of each pair at the path of the second."""
    made = " && ".join(f"mount --bind {what} {where}" for what, where in mounts)
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{made} && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, timeout=60).returncode:
        pytest.skip("this machine does not let us make a mount namespace")
    return inside


def directories(above: Path, *names: str) -> list[Path]:
    made = [above / name for name in names]
    for one in made:
        one.mkdir(mode=0o700)
    return made


def test_a_container_that_sees_the_directories_at_other_paths(tmp_path: Path, start: Starting) -> None:
    one, two, first, second, empty = directories(tmp_path, "one", "two", "first", "second", "empty")
    inside = seeing((one, first), (two, second), (empty, one), (empty, two))
    processes = [start(HOLD_ONE_AND_ASK.format(one, two)), start(HOLD_ONE_AND_ASK.format(second, first), inside)]
    assert ends_of(processes) == ["asks\nin\n", "asks\nrefused 2\n"]


def test_a_container_that_sees_another_directory_at_the_same_path(tmp_path: Path, start: Starting) -> None:
    """The names that it holds there are not the names for which the others wait."""
    one, two, three = directories(tmp_path, "one", "two", "three")
    first = start(HOLD_ONE_AND_ASK.format(one, two))
    second = start(HOLD_ONE_AND_ASK.format(two, one), seeing((three, two)))
    with vez.connect(f"file://{one}") as client, vez.connect(f"file://{two}") as other:
        with other.lock("x", timeout=60):
            until_held(first)
            until_held(second)
            let_ask(first)
            notes = one / ".deadlocks"
            eventually(lambda: notes.exists() and b"two" in notes.read_bytes(), "the first has noted that it waits")
            let_ask(second)
            eventually(lambda: len(client.inspect("x").queue) == 1 or second.poll() is not None, "the second has asked")
        assert ends_of([first, second], asked=True) == ["asks\nin\n"] * 2


def test_a_thread_asks_for_what_a_task_of_its_loop_holds(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns"

    async def run() -> None:
        async with vez.aio.connect(url) as tasks, tasks.lock("x"):
            with vez.connect(url) as client:
                with pytest.raises(vez.Deadlock):
                    client.lock("x", timeout=20).acquire()
                assert await asyncio.create_task(another(client)) == "refused"

    async def another(client: vez.Client) -> str:
        try:
            client.lock("x", timeout=20).acquire()
        except vez.Deadlock:
            return "refused"
        return "in"

    asyncio.run(run())


def test_a_task_asks_for_what_its_thread_holds(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns"

    async def ask() -> None:
        async with vez.aio.connect(url) as tasks, tasks.lock("x", timeout=20):
            pass

    with vez.connect(url) as client, client.lock("x"), pytest.raises(vez.Deadlock):
        asyncio.run(ask())


@pytest.mark.parametrize("waits", [False, True])
def test_a_task_asks_for_what_it_took_synchronously(tmp_path: Path, waits: bool) -> None:
    """Also through `asyncio.wait_for`, which before Python 3.12 runs what it waits for in a task of its own."""
    url = f"file://{tmp_path}/turns"

    async def run() -> None:
        async with vez.aio.connect(url) as tasks:
            lock = tasks.lock("x", timeout=20)
            with vez.connect(url) as client, client.lock("x"), pytest.raises(vez.Deadlock):
                await (asyncio.wait_for(lock.acquire(), 20) if waits else lock.acquire())

    asyncio.run(run())


def test_a_cycle_of_a_task_that_took_its_lock_synchronously(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns"

    async def first(tasks: vez.aio.Client, client: vez.Client, both: asyncio.Barrier) -> str:
        with client.lock("a"):
            await both.wait()
            return await then(tasks, "b")

    async def second(tasks: vez.aio.Client, both: asyncio.Barrier) -> str:
        async with tasks.lock("b"):
            await both.wait()
            return await then(tasks, "a")

    async def then(tasks: vez.aio.Client, name: str) -> str:
        try:
            async with tasks.lock(name, timeout=60):
                return "in"
        except vez.Deadlock:
            return "refused"

    async def run() -> list[str]:
        async with vez.aio.connect(url) as tasks:
            with vez.connect(url) as client:
                both = asyncio.Barrier(2)
                return sorted(await asyncio.gather(first(tasks, client, both), second(tasks, both)))

    assert asyncio.run(run()) == ["in", "refused"]


def test_a_cycle_through_a_blocked_loop(tmp_path: Path) -> None:
    """A task holds a, and its thread asks for b, whose holder asks for a."""
    url = f"file://{tmp_path}/turns"
    held = threading.Barrier(2)

    def with_tasks() -> str:
        async def run() -> str:
            async with vez.aio.connect(url) as tasks, tasks.lock("a"):
                held.wait(60)
                with vez.connect(url) as client, client.lock("b", timeout=60):
                    return "in"

        try:
            return asyncio.run(run())
        except vez.Deadlock:
            return "refused"

    with vez.connect(url) as client, ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(with_tasks), pool.submit(take_both, client, "b", client, "a", held)]
        assert sorted(end.result(60).split()[0] for end in ends) == ["in", "refused"]


def test_a_task_may_wait_for_what_another_task_took_synchronously(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/turns"

    async def run() -> str:
        async with vez.aio.connect(url) as tasks, asyncio.timeout(20):
            with vez.connect(url) as client:
                grant = client.lock("x").acquire()

                async def want() -> str:
                    async with tasks.lock("x"):
                        return "in"

                wanted = asyncio.create_task(want())
                await eventually_in_task(lambda: client.inspect("x").queue, "it queues")
                grant.release()
                return await wanted

    assert asyncio.run(run()) == "in"


def test_a_cycle_of_others_is_not_ours(tmp_path: Path) -> None:
    """A request that waits behind two that wait for each other is not refused: one of them may give up."""
    with vez.connect(f"file://{tmp_path}/turns") as client, ThreadPoolExecutor(2) as pool:
        with client.lock("mine"):
            other = pool.submit(lambda: client.lock("a").acquire())
            grant = other.result(60)
            waiting = pool.submit(lambda: client.lock("b").acquire())
            waiting.result(60).release()
            with pytest.raises(vez.LockTimeout):
                client.lock("a", timeout=0.05).acquire()
            grant.release()
        eventually(lambda: not client.inspect("a").holders, "free")
