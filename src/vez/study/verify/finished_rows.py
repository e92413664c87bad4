"""Finished rows of the verification matrix in a file, so that an interrupted `vez verify` can continue.

The first line names the format, the code and the limit of states with which the rows were made. Rows made with others
are not used again. Each further line is one row, written when the row is finished.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from vez.errors import BadData, CannotWrite
from vez.study.verify.matrix import Cell, Row

LARGEST = 1 << 20
"""Largest size of the file in bytes. The whole matrix is about 200 rows of 300 bytes."""


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of the file."""

    max_states: int
    code: str
    """A hash of the source code of vez."""
    kind: Literal["vez verify"] = "vez verify"
    format: int = 1


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One finished row."""

    command: str
    """The command, which identifies the row: no two rows of the matrix have the same command."""
    states: int | None
    cells: dict[str, Cell]


class Kept:
    """The file of finished rows. Opening it reads the rows that can be used again."""

    def __init__(self, path: Path, max_states: int) -> None:
        self.path = path
        self.stale = False
        """True if the file held rows that were made with other code or another limit; they are dropped."""
        self._head = Head(max_states=max_states, code=code())
        self._lines: dict[str, Line] = {}
        if path.exists():
            self._read()
        self._write(_line(self._head) + b"".join(map(_line, self._lines.values())), "wb")

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, command: str) -> Line | None:
        """The finished row with this command, or None."""
        return self._lines.get(command)

    def add(self, row: Row) -> None:
        """Write a finished row."""
        line = self._lines[row.command] = Line(row.command, row.states, row.cells)
        self._write(_line(line), "ab")

    def _read(self) -> None:
        content = self._content()
        if not content:
            return
        first, *others = content.split(b"\n")
        try:
            head = msgspec.json.decode(first, type=Head)
        except msgspec.DecodeError as error:
            raise BadData(f"{self.path} is not a file of `vez verify --resume`", hint="name a new file") from error
        self.stale = head != self._head
        if self.stale:
            return
        for text in others[:-1]:  # after the last newline there is nothing, or a line that was cut short
            try:
                line = msgspec.json.decode(text, type=Line)
            except msgspec.DecodeError as error:
                raise BadData(f"{self.path}: a line is damaged: {error}", hint="remove the file") from error
            self._lines[line.command] = line

    def _content(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                content = file.read(LARGEST + 1)
        except OSError as error:
            raise BadData(f"cannot read {self.path}: {error.strerror}", hint="name another file") from error
        if len(content) > LARGEST:
            raise BadData(f"{self.path} is not a file of `vez verify --resume`: too large", hint="name a new file")
        return content

    def _write(self, data: bytes, mode: str) -> None:
        try:
            with self.path.open(mode) as file:
                file.write(data)
        except OSError as error:
            raise CannotWrite(f"cannot write {self.path}: {error.strerror}", hint="choose another file") from error


def _line(value: Head | Line) -> bytes:
    return msgspec.json.encode(value) + b"\n"


@cache
def code() -> str:
    """A hash of all source files of vez: any change of the code may change a row."""
    folder = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
