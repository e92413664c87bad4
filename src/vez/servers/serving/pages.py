"""The page server of the texts: files below a folder.

It serves only regular files whose path has no part that begins with a dot. Symbolic links are not followed: each part
of a path is opened below the folder before it, so that no link and no race leads out of the folder.
"""

from __future__ import annotations

import contextlib
import errno
import mimetypes
import os
import stat
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import msgspec

from vez.errors import MissingFile
from vez.servers.serving.service import Answer, Refusal, Request, Service

INDEX = "index.html"
KEPT_BYTES = 8 << 20
"""Default size in bytes of the cache for small files."""
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EACCES, errno.ENXIO, errno.EPERM)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
TYPES = mimetypes.MimeTypes()
"""Python's own table of types, not that of the machine, so that a file has the same type everywhere."""


class Page(msgspec.Struct, frozen=True):
    """A file that was read."""

    answer: Answer
    read_at: float


class Pages(Service[tuple[str, ...], Answer]):
    """Serves GET and HEAD of files below a folder."""

    name = "pages"

    def __init__(
        self,
        folder: Path,
        *,
        disk_ms: float | Mapping[str, float] = 0.0,
        cache_bytes: int = KEPT_BYTES,
        fresh_s: float = 1.0,
        largest: int = 16 << 20,
    ) -> None:
        """`disk_ms` makes each read slow: the thread blocks in the kernel for this time. It may differ by folder:
        `{"": 1, "long": 50}` is 50 ms below `/long` and 1 ms elsewhere.

        Small files are kept in memory, `cache_bytes` in all, and read again after `fresh_s`. Files larger than
        `largest` are refused.
        """
        try:
            self._root = os.open(folder, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
        except OSError as error:
            raise MissingFile(f"cannot open the folder {folder}: {error.strerror}") from error
        self._disk_ms = disk_ms if isinstance(disk_ms, Mapping) else {"": disk_ms}
        self._room = cache_bytes
        self._fresh_s = fresh_s
        self._largest = largest
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, ...], Page] = {}
        self._kept_bytes = 0

    def decode(self, request: Request) -> tuple[str, ...]:
        """The parts of the path below the folder."""
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, headers=(("Allow", "GET, HEAD"),))
        return parts(request.target)

    def at_once(self, question: tuple[str, ...]) -> Answer | None:
        """The file as it is in memory, unless it was read too long ago."""
        page = self._kept.get(question)
        if page is None or time.monotonic() - page.read_at > self._fresh_s:
            return None
        return page.answer

    def decide(self, question: tuple[str, ...]) -> Answer:
        """Read the file, or take it from memory."""
        return self.at_once(question) or self._read(question)

    def answer(self, result: Answer) -> Answer:
        """The result itself, which is already an answer."""
        return result

    def close(self) -> None:
        """Close the folder."""
        root, self._root = self._root, -1
        if root >= 0:
            os.close(root)

    def _read(self, path: tuple[str, ...]) -> Answer:
        now = time.monotonic()
        disk_ms = self._disk_ms.get(path[0], self._disk_ms.get("", 0.0))
        if disk_ms:
            time.sleep(disk_ms / 1000)
        try:
            answer = self._answer(path)
        except OSError as error:
            if error.errno in _MISSING:
                raise Refusal(404) from error
            raise
        if answer.status == 200:
            self._keep(path, Page(answer, now))
        return answer

    def _answer(self, path: tuple[str, ...]) -> Answer:
        *folders, name = path
        with contextlib.ExitStack() as stack:
            here = self._root
            for folder in folders:
                here = os.open(folder, _FOLDER, dir_fd=here)
                stack.callback(os.close, here)
            file = os.open(name or INDEX, _FILE, dir_fd=here)
            stack.callback(os.close, file)
            found = os.fstat(file)
            if stat.S_ISDIR(found.st_mode) and name:
                place = "".join(f"/{quote(part, safe='')}" for part in path)
                return Answer(301, headers=(("Location", f"{place}/"),))
            if not stat.S_ISREG(found.st_mode):
                raise Refusal(404)
            if found.st_size > self._largest:
                raise Refusal(403, f"the file has more than {self._largest} bytes")
            body = _read_all(file, self._largest)
        return Answer(200, body, content_type(name or INDEX))

    def _keep(self, path: tuple[str, ...], page: Page) -> None:
        size = len(page.answer.body)
        if size > self._room // 8:
            return
        with self._lock:
            old = self._kept.pop(path, None)
            self._kept_bytes += size - (len(old.answer.body) if old else 0)
            self._kept[path] = page
            while self._kept_bytes > self._room:
                gone = self._kept.pop(next(iter(self._kept)))
                self._kept_bytes -= len(gone.answer.body)


def parts(target: str) -> tuple[str, ...]:
    """A target as names below the folder; the last is empty for the folder itself. Raises Refusal."""
    path = target.partition("?")[0].partition("#")[0]
    if not path.startswith("/"):
        raise Refusal(400, "the target must be a path")
    try:
        names = tuple(unquote_to_bytes(name).decode() for name in path[1:].split("/"))
    except UnicodeDecodeError as error:
        raise Refusal(400, "the path is not UTF-8") from error
    for place, name in enumerate(names):
        last = place == len(names) - 1
        if name.startswith(".") or "/" in name or "\0" in name or (not name and not last):
            raise Refusal(404)
    return names


def content_type(name: str) -> str:
    """The media type of a file name."""
    kind = TYPES.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind == "application/javascript" else kind


def _read_all(file: int, most: int) -> bytes:
    """The bytes of a file, at most `most`, because another process may be appending to it."""
    read: list[bytes] = []
    while most and (data := os.read(file, min(most, 1 << 20))):
        read.append(data)
        most -= len(data)
    return b"".join(read)
