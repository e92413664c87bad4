"""Quoting of names and paths as in URLs. Most names need no quoting, and `urllib.parse` takes longer to load than
many modules of this engine together. So it is loaded only for names that need it."""

from __future__ import annotations

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
"""The characters that are never quoted."""


def is_plain(text: str, safe: str = "") -> bool:
    """True if `quoted` does not change the text."""
    return _PLAIN.issuperset(text.replace(safe, "") if safe else text)


def quoted(text: str, safe: str = "") -> str:
    """The text with `%` forms for all characters that are neither plain nor `safe`."""
    if is_plain(text, safe):
        return text
    from urllib.parse import quote

    return quote(text, safe=safe, errors="surrogateescape")  # a path may have bytes that are not UTF-8


def unquoted(text: str) -> str:
    """The text without `%` forms."""
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text, errors="surrogateescape")
