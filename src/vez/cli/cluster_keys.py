"""The keys of `vez cluster --interactive`, with which a person controls the nodes while they run."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from vez.errors import Misuse
from vez.worlds.node.cluster.cluster import Cluster

HELP = (
    "1-9, tab: choose a node\n"
    "{}c: crash  r: recover\n"
    "a: recover without memory  p: pause  g: go on\n"
    "x: cut  s: slow  h: heal the channel  q: end"
)
_ASKS = {"mutex": "w: want  ", "election": "e: elect  "}
"""The keys for requests of the application, by the role of the algorithm."""
DIGITS = "0123456789"
"""The digits. `isdigit` is not used, because it accepts characters that `int` refuses."""
SLOW_MS = 5.0
"""Delay of a slow channel, in ms of the algorithm: some message times."""


class Keys:
    """The chosen node, the node chosen before it, and the effects of keys on them."""

    def __init__(self, running: Cluster) -> None:
        self._running = running
        self._ids = running.setup.ids
        asks = _ASKS.get(running.setup.algorithm.role, "")
        self._asks = asks[:1]
        self.help = HELP.format(asks)
        """The help for the keys."""
        self.chosen = self._ids[0]
        self.before = self._ids[-1]

    @property
    def words(self) -> str:
        """The node and the channel to which the keys apply, in words."""
        return f"node {self.chosen}, channel {self.before}→{self.chosen}"

    def press(self, key: str) -> None:
        """Execute a key. Unknown keys have no effect, and no key has one before the start of the nodes."""
        running, node = self._running, self.chosen
        if not running.has_begun:
            return
        if key in DIGITS and int(key) in self._ids:
            self._choose(int(key))
        elif key == "\t":
            self._choose(self._ids[(self._ids.index(node) + 1) % len(self._ids)])
        elif key == "q":
            running.end()
        elif key in "we":
            if key == self._asks == "w":
                running.want(node)
            elif key == self._asks:
                running.members[node].do("elect")
        elif key in "ra":
            running.spawn(running.recover(node, memory=key == "r"))
        elif key in "cpg":
            running.spawn({"c": running.crash, "p": running.pause, "g": running.resume}[key](node))
        elif key in "xh" and self.before != node:
            running.spawn((running.cut if key == "x" else running.heal)(self.before, node))
            running.slow(self.before, node, 0.0)
        elif key == "s" and self.before != node:
            running.slow(self.before, node, SLOW_MS)

    def _choose(self, node: int) -> None:
        if node != self.chosen:
            self.before, self.chosen = self.chosen, node


@contextmanager
def keyboard(keys: Keys) -> Iterator[None]:
    """Pass every key of the terminal on, without waiting for the end of a line."""
    try:
        import termios
        import tty
    except ImportError:
        raise Misuse("keys need a terminal of a POSIX system", hint="leave --interactive out") from None
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def read() -> None:
        for key in os.read(descriptor, 64).decode(errors="ignore"):
            keys.press(key)

    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, read)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
