"""The directory of the file engine: which one, and whether it can be trusted.

A directory that others may write to, or one on a file system whose locks are not this kernel's, would break the
promises silently. So it is refused with an error.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import stat
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from vez.engines import handles
from vez.engines.urls import without_password
from vez.errors import EngineUnavailable, Misuse

NETWORK_FILE_SYSTEMS = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x01021997: "9P",
    0x65735546: "FUSE",
    0x00C36400: "Ceph",
    0x5346414F: "AFS",
    0x6B414653: "AFS",
    0x73757245: "Coda",
    0x564C: "NCP",
    0x01161970: "GFS2",
    0x7461636F: "OCFS2",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x20030528: "OrangeFS",
    0x786F4256: "VirtualBox shared folder",
}
"""The magic numbers of statfs(2). On these a lock may be unknown to other machines, or outlive a crash. FUSE is among
them because it does not tell what is behind it."""


def directory_of(url: str) -> Path:
    """The directory of a `file:` URL, of `VEZ_DIR`, of the session, or of the system's temporary directory."""
    shown = without_password(url)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Misuse(f"{shown!r} is not a URL: {error}", hint="write file:///absolute/path") from error
    if "\0" in unquote(parts.path):
        raise Misuse(f"a path must not contain a zero byte, found {shown!r}", hint="write file:///absolute/path")
    if parts.netloc not in ("", "localhost"):
        raise Misuse(f"a file: URL names a directory of this machine, found the host {parts.hostname!r} in {shown!r}",
                     hint="write file:///absolute/path")  # fmt: skip
    if parts.query or parts.fragment:
        raise Misuse(f"a file: URL has no options, found {shown!r}", hint="write file:///absolute/path")
    if parts.path:
        return Path(unquote(parts.path)).absolute()
    if chosen := os.environ.get("VEZ_DIR"):
        return Path(chosen).absolute()
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and os.path.isdir(session):
        return Path(session) / "vez"
    return Path(tempfile.gettempdir()) / f"vez-{os.geteuid()}"


def open_directory(path: Path) -> int:
    """Check the directory, which is created if it does not exist; a descriptor of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        descriptor = handles.open_handle(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        there = error.errno in (errno.EEXIST, errno.ENOTDIR, errno.ELOOP)
        what = "is a symbolic link or not a directory" if there else error.strerror
        raise EngineUnavailable(
            f"cannot use {path}: {what}", hint="name a directory of your own in VEZ_DIR or file:///path"
        ) from error
    try:
        _check(descriptor, path)
        # A shared lock on the directory keeps systemd-tmpfiles from cleaning it while it is in use.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BaseException:
        handles.close_handle(descriptor)
        raise
    return descriptor


def _check(descriptor: int, path: Path) -> None:
    facts = os.fstat(descriptor)
    if facts.st_uid != os.geteuid():
        raise EngineUnavailable(
            f"{path} belongs to user {facts.st_uid}, expected {os.geteuid()}",
            hint="each user has a directory; name one of your own in VEZ_DIR",
        )
    if stat.S_IMODE(facts.st_mode) & 0o077:
        raise EngineUnavailable(
            f"{path} is open to others (mode {stat.S_IMODE(facts.st_mode):04o}), expected 0700",
            hint="name a directory of your own in VEZ_DIR or file:///path; one that is not there yet is made",
        )
    refuse_network(file_system(descriptor), path)


def refuse_network(magic: int, path: Path) -> None:
    """Raise if this is the magic number of a file system whose locks are not this kernel's."""
    if (name := NETWORK_FILE_SYSTEMS.get(magic)) is not None:
        raise EngineUnavailable(
            f"{path} is on {name}, and the file engine needs a file system of this machine",
            hint="put VEZ_DIR on a local disk; for many machines use an engine made for them",
        )


def file_system(descriptor: int) -> int:
    """The magic number of the file system, from fstatfs(2); Python's statvfs does not have it."""
    buffer = (ctypes.c_long * 64)()  # struct statfs has 120 bytes; its first word is f_type
    library = ctypes.CDLL(None, use_errno=True)
    if library.fstatfs(descriptor, ctypes.byref(buffer)) != 0:
        raise EngineUnavailable(f"cannot ask for the file system: {os.strerror(ctypes.get_errno())}")
    return int(buffer[0]) & 0xFFFFFFFF
