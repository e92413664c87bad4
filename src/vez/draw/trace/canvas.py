"""Canvas: a row of a terminal, in which text is written at any place, with a style for each cell."""

from __future__ import annotations

from rich.cells import get_character_cell_size

CODES = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "bold red": "1;31",
    "bold green": "1;32",
    "bold yellow": "1;33",
}


def cells(text: str) -> int:
    """Number of terminal cells of a text: a Chinese character takes two, a combining accent none."""
    return sum(map(get_character_cell_size, text))


def fit(said: str, room: int) -> str:
    """The text, or, if it does not fit, its beginning with an ellipsis."""
    while cells(said) > room and said:
        said = said[:-2] + "…" if len(said) > 1 else ""
    return said


class Row:
    """A line of fixed width. Later text overwrites earlier text; text that does not fit is cut off."""

    __slots__ = ("_chars", "_styles")

    def __init__(self, width: int) -> None:
        self._chars = [" "] * width
        self._styles = [""] * width

    def put(self, place: int, text: str, style: str = "") -> Row:
        """Write at a place."""
        for char in text:
            size = get_character_cell_size(char)
            if size == 0:
                continue
            if place < 0 or place + size > len(self._chars):
                place += size
                continue
            self._chars[place], self._styles[place] = char, style
            for rest in range(place + 1, place + size):
                self._chars[rest], self._styles[rest] = "", style
            place += size
        return self

    def render(self, color: bool) -> str:
        """The line without trailing blanks, with or without colours."""
        if not color:
            return "".join(self._chars).rstrip()
        last = len("".join(char or "x" for char in self._chars).rstrip())
        parts: list[str] = []
        current = ""
        for char, style in zip(self._chars[:last], self._styles[:last], strict=True):
            if style != current and char != " ":
                parts.append("\x1b[0m" if current else "")
                parts.append(f"\x1b[{CODES[style]}m" if style else "")
                current = style
            parts.append(char)
        return "".join(parts) + ("\x1b[0m" if current else "")
