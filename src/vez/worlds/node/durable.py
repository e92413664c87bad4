"""Durable: the fields that survive a crash, on disk.

The file holds records, each with its length and a checksum; the last whole record counts. A record is appended and
synced before any message of the same handler leaves. A record that a crash cut short is ignored: nothing that depends
on it was ever sent. Only the last record can be cut short. If whole records follow a bad one, the file is damaged, and
the node does not start with the older fields before it. The file exists from the first start on, even for algorithms
without durable fields, so that a node knows if it had an earlier life.
"""

from __future__ import annotations

import contextlib
import os
import typing
import zlib
from pathlib import Path
from typing import IO, Any

import msgspec

from vez.core.process import DURABLE, Process, marked
from vez.errors import CannotWrite, CorruptState, Misuse, ProtocolBug

LARGEST = 1 << 20
"""The size in bytes from which the file is rewritten with one record."""
WITHOUT_MEMORY = "remove it to start the node without memory"
_SET = 1
"""The code of a frozenset, as a msgpack extension."""


class _Record(msgspec.Struct, frozen=True):
    algorithm: str
    fields: dict[str, Any]


class Forgetful:
    """Keeps no fields: every start is a first start."""

    found: dict[str, Any] | None = None

    def begin(self, process: Process) -> None:
        """Write nothing."""

    def store(self, process: Process) -> None:
        """Write nothing."""

    def close(self) -> None:
        """Do nothing, because nothing is open."""


class Durable(Forgetful):
    """The durable fields of one node in a directory. While it is open, no other node of the same id can open it."""

    def __init__(self, directory: Path, node: int, algorithm: str, kind: type[Process]) -> None:
        self._path = directory / f"{node}.durable"
        self._algorithm = algorithm
        self._names = marked(kind, DURABLE)
        self._hints = typing.get_type_hints(kind)
        self._lock = _lock(directory / f"{node}.lock", node)
        try:
            self.found = self._read()
        except BaseException:
            self._lock.close()
            raise
        """The fields of an earlier life, or None if there was none."""

    def begin(self, process: Process) -> None:
        """Write the fields with which this life begins, in a new file."""
        self._write_anew(self._record(process))

    def store(self, process: Process) -> None:
        """Write the fields and sync. When it returns, a crash cannot undo them."""
        record = self._record(process)
        try:
            if self._file.tell() + len(record) > LARGEST:
                self._file.close()
                self._write_anew(record)
                return
            while written := self._file.write(record):  # the system may write only a part
                record = record[written:]
            os.fdatasync(self._file.fileno()) if hasattr(os, "fdatasync") else os.fsync(self._file.fileno())
        except OSError as error:
            raise CannotWrite(f"cannot write {self._path}: {error.strerror}") from error

    def close(self) -> None:
        """Release the lock, so that another node of the same id can start."""
        with contextlib.suppress(AttributeError):
            self._file.close()
        self._lock.close()

    def _record(self, process: Process) -> bytes:
        fields = {name: _tagged(getattr(process, name), self._can(name)) for name in self._names}
        payload = msgspec.msgpack.encode(_Record(self._algorithm, fields), order="deterministic")
        return len(payload).to_bytes(4, "big") + zlib.crc32(payload).to_bytes(4, "big") + payload

    def _write_anew(self, record: bytes) -> None:
        temporary = self._path.with_suffix(".new")
        try:
            with open(temporary, "wb", opener=_private) as file:
                file.write(record)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
            _sync_folder(self._path.parent)
            self._file: IO[bytes] = open(self._path, "ab", buffering=0)  # noqa: SIM115 - open until `close`
        except OSError as error:
            raise CannotWrite(f"cannot write {self._path}: {error.strerror}") from error

    def _read(self) -> dict[str, Any] | None:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CorruptState(f"cannot read {self._path}: {error.strerror}") from error
        payload, at = b"", 0
        while (found := _whole(content, at)) is not None:
            payload, at = found, at + 8 + len(found)
        if _is_damaged(content, at):
            raise CorruptState(
                f"{self._path} is damaged: the record at byte {at} is wrong, and others follow it", hint=WITHOUT_MEMORY
            )
        try:
            record = msgspec.msgpack.Decoder(_Record, ext_hook=_untagged).decode(payload)
            if record.algorithm != self._algorithm:
                raise Misuse(
                    f"{self._path} belongs to a node of {record.algorithm}, not of {self._algorithm}",
                    hint="use another directory, or remove the file",
                )
            return {name: self._typed(name, value) for name, value in record.fields.items() if name in self._names}
        except msgspec.MsgspecError as error:
            raise CorruptState(f"{self._path} is damaged: {error}", hint=WITHOUT_MEMORY) from error

    def _can(self, name: str) -> bool:
        """True if msgspec can decode the declared type of a field."""
        try:
            msgspec.json.Decoder(self._hints[name])
        except TypeError:
            return False
        return True

    def _typed(self, name: str, value: Any) -> Any:
        return msgspec.convert(value, self._hints[name]) if self._can(name) else _tuples(value)


def _whole(content: bytes, at: int) -> bytes | None:
    """The record that begins at `at`, or None if it is not complete."""
    length, checksum = (int.from_bytes(content[at + part : at + part + 4], "big") for part in (0, 4))
    found = content[at + 8 : at + 8 + length]
    return found if 0 < length == len(found) and zlib.crc32(found) == checksum else None


def _is_damaged(content: bytes, at: int) -> bool:
    """True if an incomplete record is not the last one. If a crash had cut it short, it would be the last.

    Its length may be wrong, so the next whole record is searched at every position. Zeros are blocks that were never
    written.
    """
    rest = content[at:]
    if not rest.strip(b"\0"):
        return False
    end = 8 + int.from_bytes(rest[:4], "big")
    return 8 < end < len(rest) or any(_whole(rest, place) is not None for place in range(1, len(rest)))


def _tagged(value: Any, typed: bool) -> Any:
    """A value for msgpack. Sets are marked if the declared type does not suffice to decode them."""
    if typed or isinstance(value, int | str | float | bytes | None):
        return value
    if isinstance(value, tuple):
        return [_tagged(part, typed) for part in value]
    if isinstance(value, frozenset):
        members = sorted(map(msgspec.msgpack.encode, value))
        return msgspec.msgpack.Ext(_SET, msgspec.msgpack.encode([msgspec.Raw(member) for member in members]))
    raise ProtocolBug(
        f"a durable field holds {value!r}, and its declared type does not say how to read it back",
        hint="use numbers, texts, tuples and frozensets, or declare one type instead of a union",
    )


def _untagged(code: int, data: memoryview) -> Any:
    if code != _SET:
        raise msgspec.ValidationError(f"unknown extension {code}")
    return frozenset(map(_tuples, msgspec.msgpack.decode(data)))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _lock(path: Path, node: int) -> IO[bytes]:
    """An open file that is locked until it is closed. Without `flock` on this system, nothing is locked."""
    try:
        file = open(path, "ab", opener=_private)  # noqa: SIM115 - open until `close`
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror}") from error
    try:
        import fcntl
    except ImportError:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise Misuse(f"node {node} is running already in {path.parent}", hint="use another directory") from None
    return file


def _sync_folder(folder: Path) -> None:
    """Make a rename permanent, if the system can open a directory."""
    with contextlib.suppress(PermissionError, IsADirectoryError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
