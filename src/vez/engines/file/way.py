"""The way to a directory: whoever may write to a directory on it can put another in its place.

With another directory in its place, the same name would be granted twice, and tokens would decrease. So every directory
on the way belongs to the user or to root, and others may not write to it, unless it has the sticky bit (as /tmp has):
there, what one user has made only that user can rename.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
import struct
from collections.abc import Iterator
from pathlib import Path, PurePath

from vez.errors import EngineUnavailable

_MOST_LINKS = 40
"""As many as the kernel follows."""
_ACL_VERSION, _ACL_ENTRY = 4, struct.Struct("<HHI")  # bytes before the entries: tag, rights, number of a user or group
_ACL_USER, _ACL_GROUP = 2, 8  # tags of entries for one user or group beside the owner's
_WHOLE_USER_MAP = ["0", "0", "4294967295"]


def refuse_open_way(path: Path) -> None:
    """Raise if others could put another directory in the place of this one."""
    for parent in _ways(path.parent):
        facts = os.lstat(parent)
        mode = stat.S_IMODE(facts.st_mode)
        if facts.st_uid not in (0, os.geteuid()) and not _is_unknown(facts.st_uid):
            raise _open(path, parent, f"belongs to user {facts.st_uid}")
        if mode & stat.S_ISVTX or stat.S_ISLNK(facts.st_mode):  # of a link only the owner counts
            continue
        if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_own_group(facts.st_gid)):
            raise _open(path, parent, f"has mode {mode:04o}")
        if mode & stat.S_IWGRP and (named := _named_writers(parent)):
            raise _open(path, parent, f"has an access control list by which {named} may write")


def make_parents(path: Path) -> None:
    """Make the directories above that are missing, for the user alone."""
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)


def _ways(path: Path) -> Iterator[str]:
    """Every directory through which a path leads and that is there, and every link on the way."""
    here, parts, links = "/", list(PurePath(path).parts[1:]), 0
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
            return  # opening it says what is wrong
        if os.path.isabs(target):
            here = "/"
        parts[:0] = [part for part in PurePath(target).parts if part != "/"]


def _is_unknown(user: int) -> bool:
    """True for the number that stands for all users who have none in this container; its root is among them."""
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        return user == overflow and Path("/proc/self/uid_map").read_text().split() != _WHOLE_USER_MAP
    except (OSError, ValueError):
        return False


def _is_own_group(group: int) -> bool:
    """True for a group of root, or for the private group that many systems make for each user, of the same name."""
    if group == 0:
        return True
    try:
        mine = pwd.getpwuid(os.geteuid())
        known = grp.getgrgid(group)
    except KeyError:
        return False
    return group == mine.pw_gid and known.gr_name == mine.pw_name and not set(known.gr_mem) - {mine.pw_name}


def _named_writers(parent: str) -> str:
    """Users and groups who may write to a directory by its access control list (acl(5)); the group bits of its mode are
    then the most that the list gives, whatever the group is. Empty if there are none but root and us."""
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


def _open(path: Path, parent: str, what: str) -> EngineUnavailable:
    return EngineUnavailable(
        f"{path} can be replaced by others: {parent} {what}",
        hint=f"chmod go-w {parent}, or name a directory elsewhere in VEZ_DIR or file:///path",
    )
