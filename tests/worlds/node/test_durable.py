"""The file of durable fields: only its end may be incomplete; damage elsewhere never results in an older state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.node.protocols import Counter
from vez.errors import CorruptState
from vez.worlds.node.durable import Durable


def opened(folder: Path) -> Durable:
    return Durable(folder, 1, "test", Counter)


def file_of(folder: Path, values: int) -> tuple[Path, list[int]]:
    """A file in which a value rose one by one, and the positions at which the records begin."""
    durable = opened(folder)
    process = Counter()
    durable.begin(process)
    path, starts = folder / "1.durable", [0]
    for value in range(1, values + 1):
        starts.append(path.stat().st_size)
        process.value = value
        durable.store(process)
    durable.close()
    return path, starts


def found(folder: Path) -> object:
    durable = opened(folder)
    durable.close()
    return durable.found


def test_every_torn_end_is_ignored(tmp_path: Path) -> None:
    path, starts = file_of(tmp_path, 3)
    content = path.read_bytes()
    assert found(tmp_path) == {"value": 3}
    for length in range(starts[3], len(content)):
        path.write_bytes(content[:length])
        assert found(tmp_path) == {"value": 2}
        path.write_bytes(content[:length] + bytes(len(content) - length))  # blocks that were never written
        assert found(tmp_path) in ({"value": 2}, {"value": 3})
    path.write_bytes(content + bytes(100))
    assert found(tmp_path) == {"value": 3}


def test_every_damaged_bit_before_the_last_record_is_noticed(tmp_path: Path) -> None:
    path, starts = file_of(tmp_path, 3)
    content = path.read_bytes()
    for at in range(starts[3]):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            path.write_bytes(damaged)
            with pytest.raises(CorruptState, match=r"1\.durable is damaged"):
                found(tmp_path)


def test_a_write_that_the_system_does_in_parts_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    durable = opened(tmp_path)
    process = Counter()
    durable.begin(process)

    class Slow:
        """A file that takes three bytes at a time, as a disk that is nearly full may."""

        def __init__(self, file: object) -> None:
            self.tell, self.fileno, self.close = file.tell, file.fileno, file.close  # type: ignore[attr-defined]
            self._write = file.write  # type: ignore[attr-defined]

        def write(self, data: bytes) -> int:
            count: int = self._write(data[:3])
            return count

    monkeypatch.setattr(durable, "_file", Slow(durable._file))
    process.value = 7
    durable.store(process)
    durable.close()
    assert found(tmp_path) == {"value": 7}
