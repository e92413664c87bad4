"""Upgrade from vez 0.1: its directory must not be used while this version uses another one.

Version 0.1 used `$XDG_RUNTIME_DIR/vez`, or `vez-UID` in the temporary directory. If a process holds or awaits a lock
there now, the default directory is refused. If none does, the old directory is removed, and a file is put in its place.
A process of version 0.1 that still has the directory open notices at its next request; one that starts later refuses
the file with an error.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from sys import modules
from typing import TYPE_CHECKING, get_args

from vez.errors import EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import Kind
from vez.locks.engines.file.directory import RECORDS
from vez.locks.engines.file.mark import MARK, raising_mark, reading_mark
from vez.locks.engines.file.place import Place

if TYPE_CHECKING:
    from vez.locks.engines.file.core import FileCore

NOTE = """vez keeps its turns in {path} now.
This file keeps version 0.1 from using a directory here: the two would not exclude each other.
"""
TEMPORARY, SESSIONS = "/tmp", "/run/user"  # noqa: S108  where systems keep them; the environment may say otherwise
_ATTEMPTS = 5
_UNWRITABLE = (errno.EEXIST, errno.EACCES, errno.EPERM, errno.ENOENT, errno.EROFS)
"""Errors that prevent creating the file. They also prevent version 0.1 from creating its directory."""


def retire_old_places(engine: FileCore) -> None:
    """Make sure that no process uses the directories of version 0.1."""
    for old in _old_places():
        for _ in range(_ATTEMPTS):
            try:
                if _retire(engine, old):
                    break
            except OSError as error:
                raise EngineUnavailable(
                    f"cannot take over {old}, where vez 0.1 kept its turns: {error.strerror}",
                    hint=f"remove {old} when nobody uses it, or set VEZ_DIR to another directory",
                ) from error
        else:
            if others := _other_files(old):
                raise EngineUnavailable(
                    f"{old}, where vez 0.1 kept its turns, has other files: {', '.join(others[:3])}",
                    hint=f"nobody takes turns there; move them elsewhere, and remove {old}",
                )
            raise EngineUnavailable(
                f"vez 0.1 is being used in {old}, and would not see the turns in {engine.path}",
                hint=f"end its programs (vez status --url file://{old}), or set VEZ_DIR={old} for all",
            )


def _old_places() -> set[str]:
    user = os.geteuid()
    sessions = {os.environ.get("XDG_RUNTIME_DIR", ""), f"{SESSIONS}/{user}"}
    found = {os.path.join(session, "vez") for session in sessions if os.path.isabs(session) and _is_ours(session)}
    temporary = {TEMPORARY}
    with contextlib.suppress(OSError):  # no directory that we can write to
        temporary.add(_temporary_directory())
    return found | {os.path.join(where, f"vez-{user}") for where in temporary}


def _temporary_directory() -> str:
    """`tempfile.gettempdir()`. In the ordinary case the answer is known without that module, which takes a while to
    load and creates a file to try the directory."""
    asked = "tempfile" in modules or not os.environ.keys().isdisjoint(("TMPDIR", "TEMP", "TMP"))
    if not asked and os.access("/tmp", os.W_OK | os.X_OK):  # noqa: S108
        return "/tmp"  # noqa: S108
    from tempfile import gettempdir

    return gettempdir()


def _is_ours(path: str) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()


def _retire(engine: FileCore, old: str) -> bool:
    """True if no process of version 0.1 can use the directory any more."""
    if _is_ours(old):
        _empty(engine, old)
        try:
            os.rmdir(old)
        except FileNotFoundError:
            pass
        except OSError:
            return False
    if os.path.lexists(old):
        return True  # version 0.1 refuses a file, and the directory of another user
    try:
        handle = os.open(old, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        return True
    try:
        os.write(handle, NOTE.format(path=engine.path).encode())
    finally:
        os.close(handle)
    return True


def _other_files(old: str) -> list[str]:
    """The other files beside those of vez; empty if one of its names is in use."""
    try:
        found = sorted(os.listdir(old))
    except OSError:
        return []
    names = [entry for entry in found if entry.partition(".")[0] in get_args(Kind)]
    return [] if names else [entry for entry in found if entry not in (MARK, RECORDS)]


def _empty(engine: FileCore, old: str) -> None:
    """Remove all idle files of the old directory. Its records of forced releases and its mark continue in the new
    one."""
    with contextlib.closing(type(engine)(Place(old))) as before:
        before.prune()
        if any(before.names(kind=kind) for kind in get_args(Kind)):
            return
        with reading_mark(before.directory, old) as mark:
            pass
        with raising_mark(engine.directory, engine.path, mark):
            pass
        for name in (RECORDS + ".old", RECORDS):
            _move(before, engine, name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(MARK, dir_fd=before.directory)


def _move(before: FileCore, engine: FileCore, name: str) -> None:
    try:
        with open(os.path.join(before.path, name), "rb") as file:
            content = file.read()
    except OSError:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = handles.open_handle(RECORDS, flags, directory=engine.directory)
    try:
        if os.write(handle, content) == len(content):
            os.unlink(name, dir_fd=before.directory)
    finally:
        handles.close_handle(handle)
