"""Names of locks, semaphores and elections: the same rules on every engine, so that a program can change its URL."""

from __future__ import annotations

from functools import lru_cache

from vez.errors import Misuse

MAX_LENGTH = 200
"""Bytes in UTF-8: short enough for a file, a key and a path of every engine, long enough for `team/service/job`."""
_SIGNS = frozenset("._:/@+=-")
_FIRST = ("L", "Nd")
_LATER = ("L", "Nd", "Mn", "Mc")
"""Classes of Unicode: letters, decimal digits and, after the first character, marks, without which the words of many
scripts cannot be written. Spaces, control and format characters and surrogates are in none of them."""
_ASCII = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") | _SIGNS
_INVISIBLE = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
"""Letters and marks that are not drawn: fillers, joiners, variation selectors. Two names must not look the same."""


def check_name(name: str) -> str:
    """The name, if it is valid; else `Misuse`."""
    if not isinstance(name, str):
        raise Misuse(f"a name must be text, found {type(name).__name__}", hint="for example vez.lock('nightly')")
    return _checked(name)


@lru_cache(maxsize=4096)
def _checked(name: str) -> str:
    if not name:
        raise Misuse("a name must not be empty", hint="for example vez.lock('nightly')")
    if _ASCII.issuperset(name) and name[0] not in _SIGNS and len(name) <= MAX_LENGTH:
        return name  # without the tables of Unicode, which take a moment to load
    for place, character in enumerate(name):
        if not _fits(character, first=place == 0):
            raise Misuse(
                f"the name {name!r} has {character!r} in a place where it is not allowed",
                hint="a name is not a path: the files are in VEZ_DIR, or where file:///path says"
                if name[0] in "/.~"
                else "letters, digits and . _ : / @ + = - are allowed, the first must be a letter or a digit",
            )
    if (length := len(name.encode())) > MAX_LENGTH:
        raise Misuse(f"a name has at most {MAX_LENGTH} bytes in UTF-8, found {length}", hint="use a digest of it")
    import unicodedata

    if not unicodedata.is_normalized("NFC", name):  # two spellings that look the same would not exclude each other
        raise Misuse(f"the name {name!r} is not in Unicode's form NFC", hint="pass unicodedata.normalize('NFC', name)")
    return name


def _fits(character: str, *, first: bool) -> bool:
    import re
    import unicodedata

    category = unicodedata.category(character)
    if re.match(_INVISIBLE, character):
        return False
    if first:
        return category.startswith(_FIRST)
    return character in _SIGNS or category.startswith(_LATER)
