"""Real nodes on real sockets, several in the process of the test, which is faster than separate processes."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.worlds.node.protocols import Counter
from vez.core.process import Process
from vez.core.topology import Complete
from vez.core.trace import Event
from vez.errors import VezError
from vez.worlds.node.group import Group, Unix
from vez.worlds.node.limits import Limits
from vez.worlds.node.node import Node, Plan

PATIENCE = 30.0
"""Seconds after which a test gives up. A busy machine must not fail a test."""


class Member:
    """A node and its output."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.said: list[dict[str, Any]] = []
        self._changed = asyncio.Condition()
        self.node = Node(plan, self._say)
        self.task = asyncio.get_running_loop().create_task(self.node.run())

    def _say(self, what: Any) -> None:
        self.said.append(msgspec.to_builtins(what) if isinstance(what, Event) else what)

    def texts(self) -> list[str]:
        return [one["text"] for one in self.said if one["event"] == "noted"]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until a condition is true, or fail with the output of the node."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    if self.task.done():
                        await self.task
                    await asyncio.sleep(0.002)  # polls the state of the node, which announces nothing
        except TimeoutError:
            raise AssertionError(f"node {self.plan.me} said {self.said[-20:]}") from None

    async def linked(self, *peers: int) -> None:
        await self.until(lambda: set(peers) <= set(self.node.status()["linked"]))

    async def stop(self) -> None:
        self.node.stop()
        await self.task

    async def error(self) -> VezError:
        """The error that ends the node."""
        async with asyncio.timeout(PATIENCE):
            try:
                await self.task
            except VezError as error:
                return error
        raise AssertionError("the node ended without an error")


class World:
    """The nodes of a test, in one directory."""

    def __init__(self, folder: Path, n: int, group: Group | None = None) -> None:
        folder.chmod(0o700)
        self.folder = folder
        ids = range(1, n + 1)
        self.group = group or Group(name="test", addresses={one: Unix(str(folder / f"{one}.sock")) for one in ids})
        self.members: list[Member] = []

    def start(
        self, me: int, kind: type[Process] = Counter, parameters: dict[str, Any] | None = None, **changes: Any
    ) -> Member:
        plan = Plan(
            group=self.group,
            me=me,
            algorithm="test",
            topology=Complete(self.group.ids),
            fresh=lambda: kind(**(parameters or {})),
            state=self.folder,
            limits=changes.pop("limits", Limits()),
            **changes,
        )
        self.members.append(Member(plan))
        return self.members[-1]


@asynccontextmanager
async def world(folder: Path, n: int, group: Group | None = None) -> AsyncIterator[World]:
    made = World(folder, n, group)
    try:
        yield made
    finally:
        for member in made.members:
            member.node.stop()
        await asyncio.gather(*(member.task for member in made.members), return_exceptions=True)


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test. Anything that it leaves open is a ResourceWarning, and those are errors."""
    asyncio.run(test)
    gc.collect()


async def closed(reader: asyncio.StreamReader) -> None:
    """Wait until the other side has closed a connection."""
    async with asyncio.timeout(PATIENCE):
        try:
            while await reader.read(1000):
                pass
        except ConnectionError:
            pass
