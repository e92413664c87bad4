"""The path to a directory. A user who may write to a directory on the path can replace the last directory by another.

After such a replacement the same name would be granted twice, and tokens would decrease. So every directory on the path
must belong to the user or to root, and others may not write to it, unless it has the sticky bit, as /tmp has. In a
directory with the sticky bit only the owner of an entry can rename it.
"""

from __future__ import annotations

import os
import pwd
import stat
import struct
from collections.abc import Iterator

from vez.errors import EngineUnavailable

_MOST_LINKS = 40
"""Largest number of symbolic links on a path, as in the kernel."""
_ACL_VERSION, _ACL_ENTRY = 4, struct.Struct("<HHI")  # bytes before the entries: tag, rights, number of a user or group
_ACL_USER, _ACL_GROUP = 2, 8  # tags of entries for one user or group beside the owner's
_WHOLE_USER_MAP = ["0", "0", "4294967295"]


def refuse_replaceable(path: str) -> None:
    """Raise if other users could replace this directory by another."""
    for parent in _ways(os.path.dirname(path)):
        facts = os.lstat(parent)
        mode = stat.S_IMODE(facts.st_mode)
        if facts.st_uid not in (0, os.geteuid()) and not _is_unknown(facts.st_uid):
            raise _open(path, parent, f"belongs to user {facts.st_uid}")
        if mode & stat.S_ISVTX or stat.S_ISLNK(facts.st_mode):  # for a link only the owner counts
            continue
        if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_own_group(facts.st_gid)):
            raise _open(path, parent, f"has mode {mode:04o}")
        if mode & stat.S_IWGRP and (named := _named_writers(parent)):
            raise _open(path, parent, f"has an access control list by which {named} may write")


def make_parents(path: str) -> None:
    """Create the missing parent directories, accessible only to the user."""
    parent = os.path.dirname(path)
    if os.path.exists(parent):
        return
    make_parents(parent)
    try:
        os.mkdir(parent, mode=0o700)
    except FileExistsError:  # another process was faster
        if not os.path.isdir(parent):
            raise


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _ways(path: str) -> Iterator[str]:
    """Every existing directory on a path, and every symbolic link on it."""
    here, parts, links = "/", _parts(path), 0
    yield here
    while parts:
        following = os.path.join(here, parts.pop(0))
        try:
            target = os.readlink(following)
        except FileNotFoundError:
            return
        except OSError:  # not a link
            here = os.path.normpath(following)
            yield here
            continue
        yield following
        links += 1
        if links > _MOST_LINKS:
            return  # opening it raises the error
        if os.path.isabs(target):
            here = "/"
        parts[:0] = _parts(target)


def _is_unknown(user: int) -> bool:
    """True for the number that stands for all users without a number in this container. The root of the host is among
    them."""
    try:
        overflow = int(_content("/proc/sys/kernel/overflowuid"))
        return user == overflow and _content("/proc/self/uid_map").split() != _WHOLE_USER_MAP
    except (OSError, ValueError):
        return False


def _content(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _is_own_group(group: int) -> bool:
    """True for a group of root, or for the private group that many systems make for each user, of the same name."""
    if group == 0:
        return True
    import grp

    try:
        mine = pwd.getpwuid(os.geteuid())
        known = grp.getgrgid(group)
    except KeyError:
        return False
    return group == mine.pw_gid and known.gr_name == mine.pw_name and not set(known.gr_mem) - {mine.pw_name}


def _named_writers(parent: str) -> str:
    """Users and groups that may write to a directory by its access control list (acl(5)). With such a list, the group
    bits of the mode are the upper bound of the rights in the list, not the rights of the group. Empty if there are none
    except root and us."""
    try:
        entries = os.getxattr(parent, "system.posix_acl_access")[_ACL_VERSION:]
    except OSError:  # there is no list, or the file system has none
        return ""
    mine = {_ACL_USER: (0, os.geteuid()), _ACL_GROUP: (0,)}
    return ", ".join(
        f"{'user' if tag == _ACL_USER else 'group'} {who}"
        for tag, rights, who in _ACL_ENTRY.iter_unpack(entries)
        if rights & os.W_OK and tag in mine and who not in mine[tag]
    )


def _open(path: str, parent: str, what: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"{path} can be replaced by others: {parent} {what}",
        hint=f"chmod go-w {parent}, or name a directory elsewhere in VEZ_DIR or file:///path",
    )
