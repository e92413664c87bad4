"""Event loops of several threads that use vez at the same time."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from vez import aio
from vez.locks.engines.file.core import FileCore
from vez.locks.engines.file.ears import LoopEar
from vez.locks.engines.file.place import Place


class Loop(asyncio.SelectorEventLoop):
    """An event loop; while it is asked whether it is closed, another thread uses vez for the first time."""

    meanwhile: Callable[[], None]

    def is_closed(self) -> bool:
        self.meanwhile()
        return super().is_closed()


def test_loops_of_two_threads_begin_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEZ_URL", f"file://{tmp_path}/turns")
    others = list[asyncio.AbstractEventLoop]()
    clients = WeakKeyDictionary[asyncio.AbstractEventLoop, aio.Client]()
    monkeypatch.setattr("vez.locks.turns.aio_default._default", clients)
    loop = Loop()
    loop.meanwhile = lambda: None

    def begin() -> None:
        others.append(asyncio.new_event_loop())
        clients[others[-1]] = clients[loop]

    async def use() -> None:
        async with aio.lock("x"):
            pass

    try:
        loop.run_until_complete(use())
        loop.meanwhile = begin
        asyncio.run(use())  # it asks the first loop, and the table grows meanwhile
        assert others
    finally:
        loop.meanwhile = lambda: None
        for client in set(clients.values()):
            client.engine.abandon()
        for one in (loop, *others):
            one.close()


def test_one_engine_of_two_loops_that_begin_at_the_same_time(tmp_path: Path) -> None:
    engine, others = FileCore(Place(tmp_path / "turns")), list[asyncio.AbstractEventLoop]()
    loop = Loop()
    loop.meanwhile = lambda: None

    async def listen() -> None:
        engine.loop_ear()

    def begin() -> None:
        others.append(asyncio.new_event_loop())
        engine._ears[others[-1]] = engine._ears[loop]

    try:
        loop.run_until_complete(listen())
        loop.meanwhile = begin
        asyncio.run(listen())
        assert others
    finally:
        loop.meanwhile = lambda: None
        for other in others:
            del engine._ears[other]
            other.close()
        engine.close()
        loop.close()


def test_a_loop_keeps_open_what_it_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier, the oldest descriptors were closed while the loop still watched them. The next connection of the program
    got the same number, and received no events. Processes beyond the limit are not watched; their waiters poll."""
    monkeypatch.setattr("vez.locks.engines.file.bell._WATCHED", 2)
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(4)]
    numbers = [process.pid for process in processes]

    async def run() -> None:
        ear = LoopEar(asyncio.get_running_loop())
        listening = [asyncio.create_task(ear.listen(pid, [pid], 1000)) for pid in numbers]
        async with asyncio.timeout(30):
            ended = [await one for one in listening[2:]]
        assert ended == [{pid} for pid in numbers[2:]]
        watched = {pid: descriptor for pid, (descriptor, _) in ear._watching.items()}
        assert sorted(watched) == sorted(numbers[:2])
        for pid, descriptor in watched.items():
            assert f"Pid:\t{pid}\n" in Path(f"/proc/self/fdinfo/{descriptor}").read_text()
        processes[0].kill()
        assert await listening[0] == {numbers[0]}
        again = asyncio.create_task(ear.listen(1, numbers[2:3], 1000))  # there is room for one by now
        await asyncio.sleep(0)
        processes[2].kill()
        assert await again == {numbers[2]}
        ear.close()
        await listening[1]

    try:
        asyncio.run(run())
    finally:
        for process in processes:
            process.kill()
            process.wait(60)
