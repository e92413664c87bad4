"""The directory of the file engine: opened, or made, if it can be trusted.

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

from vez.errors import EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.file import path_checks
from vez.locks.engines.file.doorway import PATIENCE, enter
from vez.locks.engines.file.place import Place

RECORDS = "breaks.jsonl"
"""The file in the directory in which forced releases are recorded."""
GROUP_MODE = 0o2770
"""Mode of a directory that a group shares. Files created in it belong to the group."""

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
"""Network file systems, by their magic number in statfs(2). On these a lock may be unknown to other machines, or
outlive a crash. FUSE is among them because it does not tell what is behind it."""


def open_directory(place: Place) -> int:
    """Check the directory, and create it if it does not exist. Returns a descriptor of it."""
    path = os.fspath(place.where)
    try:
        path_checks.refuse_replaceable(path)
        path_checks.make_parents(path)
        with contextlib.suppress(FileExistsError):
            _make(place)
        descriptor = handles.open_handle(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        there = error.errno in (errno.EEXIST, errno.ENOTDIR, errno.ELOOP)
        what = "is a symbolic link or not a directory" if there else error.strerror
        raise EngineUnavailable(f"cannot use {path}: {what}", hint=handles.hint_for(error) or place.hint) from error
    try:
        _check(descriptor, place)
        # A shared lock on the directory keeps systemd-tmpfiles from cleaning it while it is in use.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BaseException:
        handles.close_handle(descriptor)
        raise
    return descriptor


def _make(place: Place) -> None:
    path = os.fspath(place.where)
    if place.group is None:
        os.mkdir(path, mode=0o700)
        return
    # Made under another name, since nobody may find it half made, and by one process at a time, since renaming would
    # replace the empty directory of another.
    parent = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            enter(parent, PATIENCE)
        except BlockingIOError:  # every process that can read it can lock it
            raise EngineUnavailable(
                f"another process keeps {os.path.dirname(path)} locked, so that {path} cannot be made in it",
                hint="make it by hand, or name a directory elsewhere; /proc/locks shows the process",
            ) from None
        if os.path.lexists(path):
            return
        temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}-{os.urandom(8).hex()}")
        os.mkdir(temporary, mode=0o700)
        try:
            os.chown(temporary, -1, place.group)
            os.chmod(temporary, GROUP_MODE)  # after chown, which takes the set-group-id bit away
            os.rename(temporary, path)
        except OSError:
            os.rmdir(temporary)
            raise
    finally:
        os.close(parent)


def _check(descriptor: int, place: Place) -> None:
    facts, path = os.fstat(descriptor), place.where
    mode = stat.S_IMODE(facts.st_mode)
    if place.group is not None:
        if (facts.st_gid, mode) != (place.group, GROUP_MODE):
            raise EngineUnavailable(
                f"{path} belongs to group {facts.st_gid} with mode {mode:04o}, "
                f"expected group {place.group} and {GROUP_MODE:04o}",
                hint=f"chgrp {place.group} {path} && chmod {GROUP_MODE:04o} {path}; one that is not there yet is made",
            )
    elif facts.st_uid != os.geteuid():
        raise EngineUnavailable(
            f"{path} belongs to user {facts.st_uid}, expected {os.geteuid()}",
            hint=f"{place.hint}; several users share file:///path?group=NAME",
        )
    elif mode & 0o077:
        raise EngineUnavailable(
            f"{path} is open to others (mode {mode:04o}), expected 0700",
            hint=f"{place.hint}; one that is not there yet is made",
        )
    refuse_network(file_system(descriptor), path)


def refuse_network(magic: int, path: object) -> None:
    """Raise if the magic number is that of a file system whose locks are not this kernel's."""
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
