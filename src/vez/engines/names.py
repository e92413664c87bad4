"""Names of locks, semaphores and elections: the same rules on every engine, so that a program can change its URL."""

from __future__ import annotations

import re
from functools import lru_cache

from vez.errors import Misuse

MAX_LENGTH = 200
"""Short enough for a file name, a key and a path of every engine, long enough for `team/service/job`."""

_allowed = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=-]*", re.ASCII)


@lru_cache(maxsize=4096)
def check_name(name: str) -> str:
    """The name, if it is valid; else `Misuse`."""
    if not isinstance(name, str):
        raise Misuse(f"a name must be text, found {type(name).__name__}", hint="for example vez.lock('nightly')")
    if not name:
        raise Misuse("a name must not be empty", hint="for example vez.lock('nightly')")
    if len(name) > MAX_LENGTH:
        raise Misuse(f"a name has at most {MAX_LENGTH} characters, found {len(name)}", hint="use a digest of it")
    if not _allowed.fullmatch(name):
        wrong = next((c for place, c in enumerate(name) if not _allowed.fullmatch("a" * bool(place) + c)), name[0])
        raise Misuse(
            f"the name {name!r} has {wrong!r} in a place where it is not allowed",
            hint="letters, digits and . _ : / @ + = - are allowed, the first must be a letter or a digit",
        )
    return name
