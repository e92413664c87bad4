"""Which directory the file engine uses: that of the URL, of `VEZ_DIR`, or one that depends on the user alone.

The default does not depend on the session, on `$HOME` or on a temporary directory: a job of `cron`, a unit of systemd
and a shell of one user must meet in the same place, or they would not exclude each other and nobody would notice.
"""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from vez.engines.urls import without_password
from vez.errors import EngineUnavailable, Misuse

IN_HOME = ".local/state/vez"
_WRITE = "write file:///absolute/path, or file:///absolute/path?group=NAME to share it with a group"
_CHOOSE = "set VEZ_DIR=/a/directory/of/your/own, the same in every program that takes turns with this one"


class Place(NamedTuple):
    """A directory, and who may take part."""

    path: Path
    group: int | None = None
    """The group whose members share it; None if it is private."""
    is_default: bool = False
    hint: str = _CHOOSE

    @property
    def url(self) -> str:
        """As it is shown to the user."""
        return f"file://{quote(str(self.path))}" + (f"?group={self.group}" if self.group is not None else "")


def place_of(url: str) -> Place:
    """The place of a `file:` URL."""
    shown = without_password(url)
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=4)
    except ValueError as error:
        raise Misuse(f"{shown!r} is not a URL: {error}", hint=_WRITE) from error
    if "\0" in unquote(parts.path):
        raise Misuse(f"a path must not contain a zero byte, found {shown!r}", hint=_WRITE)
    if parts.netloc not in ("", "localhost"):
        raise Misuse(f"a file: URL names a directory of this machine, found the host {parts.hostname!r} in {shown!r}",
                     hint=_WRITE)  # fmt: skip
    if parts.fragment or [name for name, _ in options] not in ([], ["group"]):
        raise Misuse(f"a file: URL has no option but group, found {shown!r}", hint=_WRITE)
    if options:
        if not parts.path:
            raise Misuse(f"a group shares a directory that the URL names, found {shown!r}", hint=_WRITE)
        return Place(Path(unquote(parts.path)).absolute(), _group(options[0][1]), hint="name another directory")
    if parts.path:
        return Place(Path(unquote(parts.path)).absolute(), hint="name a directory of your own in file:///path")
    if chosen := os.environ.get("VEZ_DIR"):
        return Place(Path(chosen).absolute(), hint="name a directory of your own in VEZ_DIR")
    return Place(_default(), is_default=True)


def _group(text: str) -> int:
    try:
        if text.isdecimal() and len(text) <= 10 and int(text) < 2**32 - 1:
            return int(text)  # a container may not know the name of a group of its host
        return grp.getgrnam(text).gr_gid
    except KeyError:
        raise Misuse(f"there is no group {text!r} on this machine", hint="getent group lists them") from None


def _default() -> Path:
    """Below the home directory of the password file. `$HOME` is not asked: su, sudo and cron set it each in its way."""
    user = os.geteuid()
    try:
        home = pwd.getpwuid(user).pw_dir
    except KeyError:
        raise EngineUnavailable(
            f"user {user} has no entry in the password file, so no home directory for locks", hint=_CHOOSE
        ) from None
    if not os.path.isabs(home) or home == "/" or not os.path.isdir(home):
        raise EngineUnavailable(f"user {user} has no home directory for locks (found {home!r})", hint=_CHOOSE)
    return Path(home) / IN_HOME
