"""Upgrade: where vez 0.1 kept its turns, nobody may take turns any more while this version does elsewhere.

Version 0.1 used `$XDG_RUNTIME_DIR/vez`, or `vez-UID` in the temporary directory. If somebody takes turns there now, the
default directory is refused. If nobody does, the old one is removed, which a process of 0.1 that still has it open
notices at its next request; and a file is put in its place, which version 0.1 refuses with an error.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from vez.engines import handles
from vez.engines.base import Kind
from vez.engines.file.breaking import RECORDS
from vez.engines.file.mark import MARK, raising_mark, reading_mark
from vez.engines.file.place import Place
from vez.errors import EngineUnavailable

if TYPE_CHECKING:
    from vez.engines.file.core import FileCore

NOTE = """vez keeps its turns in {path} now.
This file keeps version 0.1 from using a directory here: the two would not exclude each other.
"""
TEMPORARY, SESSIONS = "/tmp", "/run/user"  # noqa: S108  where systems keep them; the environment may say otherwise
_ATTEMPTS = 5
_UNWRITABLE = (errno.EEXIST, errno.EACCES, errno.EPERM, errno.ENOENT, errno.EROFS)
"""Where a file cannot be put, version 0.1 cannot make its directory."""


def retire_old_places(engine: FileCore) -> None:
    """Make sure that nobody takes turns where version 0.1 did."""
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


def _old_places() -> set[Path]:
    user = os.geteuid()
    sessions = {os.environ.get("XDG_RUNTIME_DIR", ""), f"{SESSIONS}/{user}"}
    found = {Path(session, "vez") for session in sessions if os.path.isabs(session) and _is_ours(session)}
    temporary = {TEMPORARY}
    with contextlib.suppress(OSError):  # there is none that we can write to
        temporary.add(tempfile.gettempdir())
    return found | {Path(where, f"vez-{user}") for where in temporary}


def _is_ours(path: str | Path) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()


def _retire(engine: FileCore, old: Path) -> bool:
    """True if no process of version 0.1 can take turns there."""
    if _is_ours(old):
        _empty(engine, old)
        try:
            old.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            return False
    if os.path.lexists(old):
        return True  # version 0.1 refuses what is there, as a file or as the directory of somebody else
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


def _other_files(old: Path) -> list[str]:
    """What is there beside the files of vez; nothing if one of its names is in use."""
    try:
        found = sorted(os.listdir(old))
    except OSError:
        return []
    names = [entry for entry in found if entry.partition(".")[0] in get_args(Kind)]
    return [] if names else [entry for entry in found if entry not in (MARK, RECORDS)]


def _empty(engine: FileCore, old: Path) -> None:
    """Remove all that is idle there; its forced releases and the mark of its tokens go on in the new directory."""
    with contextlib.closing(type(engine)(Place(old))) as before:
        before.prune()
        if any(before.names(kind=kind) for kind in get_args(Kind)):
            return
        with reading_mark(before.directory, str(old)) as mark:
            pass
        with raising_mark(engine.directory, str(engine.path), mark):
            pass
        for name in (RECORDS + ".old", RECORDS):
            _move(before, engine, name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(MARK, dir_fd=before.directory)


def _move(before: FileCore, engine: FileCore, name: str) -> None:
    try:
        content = (before.path / name).read_bytes()
    except OSError:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = handles.open_handle(RECORDS, flags, directory=engine.directory)
    try:
        if os.write(handle, content) == len(content):
            os.unlink(name, dir_fd=before.directory)
    finally:
        handles.close_handle(handle)
