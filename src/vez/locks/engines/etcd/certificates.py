"""The TLS context of a client, made again when its certificates were renewed.

The certificates of services are often valid for a day, and are replaced on disk before they end. A client that kept
those with which it began would one day be refused, and would lose everything that it holds.

Tasks read the files in a thread of their own (`apart`). They do not use the executor of their loop, because all its
threads may be waiting for a lock that is lost without the new connection.
"""

from __future__ import annotations

import os
import ssl

from vez.errors import Misuse
from vez.locks.engines.etcd.address import Address

Stamp = tuple[tuple[int, int, int] | None, ...]


class Certificates:
    """The certificates that a URL names, as they are on disk now."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._files = tuple(filter(None, (address.ca, address.cert, address.key)))
        self._stamp = self._look()
        self._context = address.context()

    def context(self) -> ssl.SSLContext | None:
        """The TLS context for a new connection; None without TLS. While files are being replaced, and do not fit each
        other, it is the one from before."""
        stamp = self._look()
        if stamp != self._stamp:
            try:
                self._context = self._address.context()
            except Misuse:
                return self._context
            self._stamp = stamp
        return self._context

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in self._files)


def _stamp(path: str) -> tuple[int, int, int] | None:
    """What changes when a file is replaced or written; None if it cannot be read."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
