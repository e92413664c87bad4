"""Log: lines on standard error for the operator of a node."""

from __future__ import annotations

import sys
import time

from vez.worlds.node.limits import Bucket

LINES_A_SECOND = 20
"""The limit of lines per second. Further lines are dropped and counted, so that a peer that connects again and again
cannot fill a disk."""

LONGEST = 600
"""The largest number of characters of a line."""


class Log:
    """The log of one node."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._bucket = Bucket(LINES_A_SECOND, time.monotonic())
        self._left_out = 0

    def line(self, text: str) -> None:
        """Write one line."""
        if self._bucket.take(1, time.monotonic()) > 0:
            self._left_out += 1
            return
        text = "".join(one if one.isprintable() else "?" for one in text[:LONGEST])  # parts of it may come from a peer
        more = f" ({self._left_out} lines were left out before this one)" if self._left_out else ""
        self._left_out = 0
        self.write(f"vez node {self._node}: {text}{more}")

    def write(self, line: str) -> None:
        """Write a whole line to standard error."""
        print(line, file=sys.stderr, flush=True)
