"""The directory that the file engine uses: that of the URL, of `VEZ_DIR`, or a default that depends only on the user.

The default does not depend on the session, on `$HOME` or on a temporary directory: a job of `cron`, a unit of systemd
and a shell of one user must meet in the same place, or they would not exclude each other and nobody would notice.
"""

# Annotations are not text here: NamedTuple and TypedDict would compile each of them when the module is imported.
import os
import pwd
from typing import TYPE_CHECKING, NamedTuple

from vez.errors import EngineUnavailable, Misuse
from vez.locks.engines.file.quoting import is_plain, quoted, unquoted
from vez.locks.engines.urls import without_password

if TYPE_CHECKING:
    from pathlib import Path

IN_HOME = ".local/state/vez"
_WRITE = "write file:///absolute/path, or file:///absolute/path?group=NAME to share it with a group"
_CHOOSE = "set VEZ_DIR=/a/directory/of/your/own, the same in every program that takes turns with this one"


class Place(NamedTuple):
    """A directory, and the group that may use it."""

    where: str | os.PathLike[str]
    """Its absolute path."""
    group: int | None = None
    """The group whose members share it; None if it is private."""
    is_default: bool = False
    hint: str = _CHOOSE

    @property
    def path(self) -> "Path":
        """The directory."""
        from pathlib import Path

        return Path(self.where)

    @property
    def url(self) -> str:
        """The URL as it is shown to the user."""
        group = "" if self.group is None else f"?group={self.group}"
        return f"file://{quoted(os.fspath(self.where), '/')}{group}"


def place_of(url: str) -> Place:
    """The place of a `file:` URL."""
    rest = url.removeprefix("file:")
    if rest != url and (not rest or (rest.startswith("///") and is_plain(rest, "/"))):
        path, group = rest[2:], None
    else:
        path, group = _taken_apart(url)
    if group is not None:
        return Place(_absolute(path), group, hint="name another directory")
    if path:
        return Place(_absolute(path), hint="name a directory of your own in file:///path")
    if chosen := os.environ.get("VEZ_DIR"):
        return Place(_absolute(chosen), hint="name a directory of your own in VEZ_DIR")
    return Place(_default(), is_default=True)


def _absolute(path: str) -> str:
    """The path from the root, without needless slashes and dots. `..` stays: a link may be before it."""
    if not path.startswith("/"):
        try:
            path = os.path.join(os.getcwd(), path)
        except FileNotFoundError:
            raise Misuse(f"{path!r} is below the current directory, which was removed",
                         hint="name an absolute path, or change to another directory") from None  # fmt: skip
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def _taken_apart(url: str) -> tuple[str, int | None]:
    """The path and the group of any `file:` URL."""
    from urllib.parse import parse_qsl, urlsplit

    shown = without_password(url)
    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=4)
    except ValueError as error:
        raise Misuse(f"{shown!r} is not a URL: {error}", hint=_WRITE) from error
    path = unquoted(parts.path)
    if "\0" in path:
        raise Misuse(f"a path must not contain a zero byte, found {shown!r}", hint=_WRITE)
    if parts.netloc not in ("", "localhost"):
        raise Misuse(f"a file: URL names a directory of this machine, found the host {parts.hostname!r} in {shown!r}",
                     hint=_WRITE)  # fmt: skip
    if parts.fragment or [name for name, _ in options] not in ([], ["group"]):
        raise Misuse(f"a file: URL has no option but group, found {shown!r}", hint=_WRITE)
    if options and not path:
        raise Misuse(f"a group shares a directory that the URL names, found {shown!r}", hint=_WRITE)
    return path, _group(options[0][1]) if options else None


def _group(text: str) -> int:
    import grp

    try:
        if text.isdecimal() and len(text) <= 10 and int(text) < 2**32 - 1:
            return int(text)  # a container may not know the name of a group of its host
        return grp.getgrnam(text).gr_gid
    except KeyError:
        raise Misuse(f"there is no group {text!r} on this machine", hint="getent group lists them") from None


def _default() -> str:
    """The default directory, below the home directory of the password file. `$HOME` is not used, because su, sudo and
    cron set it differently."""
    user = os.geteuid()
    try:
        home = pwd.getpwuid(user).pw_dir
    except KeyError:
        raise EngineUnavailable(
            f"user {user} has no entry in the password file, so no home directory for locks", hint=_CHOOSE
        ) from None
    if not os.path.isabs(home) or home == "/" or not os.path.isdir(home):
        raise EngineUnavailable(f"user {user} has no home directory for locks (found {home!r})", hint=_CHOOSE)
    return _absolute(os.path.join(home, IN_HOME))
