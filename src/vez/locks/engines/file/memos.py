"""Memos: one small file for each name that has one, beside the file of the name, which may be pruned without it.

It is replaced as a whole or not at all, and durably, inside the doorway of the name. Its token is that of the holder
who wrote it, so that a holder which has lost the name without noticing cannot replace what a later one wrote.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from typing import TYPE_CHECKING

from vez.errors import CorruptState, EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import Kind
from vez.locks.engines.file.doorway import doorway
from vez.locks.engines.file.mapped_file import MEMO, Gone, file_name
from vez.locks.engines.file.mark import make_file
from vez.locks.engines.wording import stale_memo

if TYPE_CHECKING:
    from vez.locks.engines.file.core import FileCore

_FIRST_LINE = "vez memo 1"
_MOST_BYTES = 4096


def read(engine: FileCore, name: str, kind: Kind) -> str | None:
    """The memo of a name, or None."""
    found = _read(engine, kind, name)
    return None if found is None else found[1]


def write(engine: FileCore, name: str, text: str | None, token: int, kind: Kind) -> None:
    """Replace the memo of a name, or remove it, unless it was written with a higher token."""
    entry, body = _entry(kind, name), f"{token}\n{name}\n{text}".encode()
    while True:
        file, handle = engine.opened(kind, name)
        try:
            with doorway(handle, file.where):
                file.look(handle)
                found = _read(engine, kind, name)
                if found is not None and found[0] > token:
                    raise stale_memo(name, token, found[0])
                if text is not None:
                    first = f"{_FIRST_LINE} {zlib.crc32(body):08x}\n".encode()
                    make_file(engine.directory, entry, first + body, replace=True)
                elif found is not None:
                    os.unlink(entry, dir_fd=engine.directory)
            return
        except Gone:  # the file of the name was pruned meanwhile
            continue
        except OSError as error:
            where = os.path.join(engine.path, entry)
            raise EngineUnavailable(f"cannot write {where}: {error.strerror}", hint=handles.hint_for(error)) from error
        finally:
            file.give_back(handle)


def name_in(directory: int, entry: str) -> str | None:
    """The name in the file of a memo; None if it is damaged."""
    with contextlib.suppress(OSError):
        handle = handles.open_handle(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, directory=directory)
        try:
            found = _parsed(os.pread(handle, _MOST_BYTES + 1, 0))
        finally:
            handles.close_handle(handle)
        return None if found is None else found[1]
    return None


def _entry(kind: Kind, name: str) -> str:
    return f"{MEMO}{file_name(kind, name)}"


def _read(engine: FileCore, kind: Kind, name: str) -> tuple[int, str] | None:
    """The token and the text of a memo."""
    entry = _entry(kind, name)
    where = os.path.join(engine.path, entry)
    try:
        handle = handles.open_handle(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, directory=engine.directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EngineUnavailable(f"cannot read {where}: {error.strerror}", hint=handles.hint_for(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _damaged(where, "it is not a regular file")
        content = os.pread(handle, _MOST_BYTES + 1, 0)
    finally:
        handles.close_handle(handle)
    found = _parsed(content)
    if found is None:
        raise _damaged(where, "its checksum does not fit, or it is no text")
    token, of, text = found
    if of != name:
        raise _damaged(where, f"it is the memo of {of!r}")
    return token, text


def _parsed(content: bytes) -> tuple[int, str, str] | None:
    """The token, the name and the text of a memo; None if it is damaged."""
    first, _, body = content.partition(b"\n")
    token, _, rest = body.partition(b"\n")
    name, _, text = rest.partition(b"\n")
    if first != f"{_FIRST_LINE} {zlib.crc32(body):08x}".encode() or not token.isdigit() or len(content) > _MOST_BYTES:
        return None
    try:
        return int(token), name.decode(), text.decode()
    except UnicodeDecodeError:
        return None


def _damaged(where: str, what: str) -> CorruptState:
    return CorruptState(
        f"{where} is damaged: {what}",
        hint="remove it; a job that is done then counts as not done, and runs again in its period",
    )
