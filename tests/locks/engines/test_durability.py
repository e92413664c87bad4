"""Writes that fail: nothing is granted, and nothing counts as recorded, that is not known to be on disk."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

import vez
from vez.errors import EngineUnavailable
from vez.locks.engines.file import layout

SMALL = 4
"""Tickets in a range: few, so that the end of a range is near."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "turns"


@pytest.fixture
def client(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[vez.Client]:
    monkeypatch.setattr("vez.locks.engines.file.ticket_file.RANGE", SMALL)
    monkeypatch.setattr("vez.locks.engines.file.layout.RANGE", SMALL)
    with vez.connect(f"file://{home}") as made:
        yield made


def to_the_end_of_the_range(client: vez.Client, home: Path) -> None:
    """Take turns until the next one needs another range."""
    while True:
        with client.lock("x") as grant:
            pass
        page = (home / "lock.x").read_bytes()[: layout.SLOTS_AT]
        if grant.token + 3 > layout.read_durable(page, "x")[0]:
            return


class Disk:
    """Calls of fsync and msync, which fail as long as `error` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: int | None = None
        self.calls = 0
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor: int) -> None:
        self.calls += 1
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))
        self._fsync(descriptor)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_range_that_did_not_reach_the_disk_is_not_issued(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    to_the_end_of_the_range(client, home)
    disk = Disk(monkeypatch)
    disk.error = number
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match="durable"):
            client.lock("x").acquire(0)
    with vez.connect(f"file://{home}") as other:  # it reads the new bound, which nobody has made durable
        with pytest.raises(EngineUnavailable, match="durable"):
            other.lock("x").acquire(0)
        disk.error, disk.calls = None, 0
        with other.lock("x", timeout=0):
            assert disk.calls == 1
        with client.lock("x", timeout=0):
            assert disk.calls == 1  # once is enough for all


def test_a_range_whose_writer_was_killed_is_made_durable_by_the_next(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_the_end_of_the_range(client, home)
    program = f"""
import os, signal, vez
import vez.locks.engines.file.ticket_file as ticket_file
ticket_file.RANGE = {SMALL}
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
vez.connect("file://{home}").lock("x").acquire()
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == -signal.SIGKILL
    disk = Disk(monkeypatch)
    with client.lock("x", timeout=0):
        assert disk.calls == 1


def test_a_record_that_a_power_loss_has_damaged_is_replaced_durably(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older record counts then, and the file still says that the damaged one is on disk."""
    for _ in range(SMALL * 3):
        client.lock("x").acquire().release()
    to_the_end_of_the_range(client, home)
    with (home / "lock.x").open("r+b") as file:
        newest = max(layout.DURABLE_AT, key=lambda place: layout.DURABLE.unpack(_bytes_at(file, place))[1])
        file.seek(newest)
        file.write(b"\xff" * 8)
        file.seek(layout.BOOT_AT)
        file.write(bytes(16))
    disk = Disk(monkeypatch)
    with vez.connect(f"file://{home}") as other, other.lock("x") as grant:
        assert disk.calls == 1
        assert grant.token < layout.read_durable((home / "lock.x").read_bytes()[: layout.SLOTS_AT], "x")[0]


def _bytes_at(file: BinaryIO, place: int) -> bytes:
    file.seek(place)
    return file.read(layout.DURABLE.size)


class Map(mmap.mmap):
    """A map whose msync fails."""

    def flush(self, *where: int) -> None:
        raise OSError(errno.EIO, "Input/output error")


def test_a_failed_msync_is_an_error_of_the_engine(home: Path, client: vez.Client) -> None:
    to_the_end_of_the_range(client, home)
    file = client.engine.core.file("lock", "x")  # type: ignore[attr-defined]
    with (home / "lock.x").open("r+b") as opened:
        real, file.map = file.map, Map(opened.fileno(), 0)
    with pytest.raises(EngineUnavailable, match="durable"):
        client.lock("x").acquire(0)
    file.map = real
    client.lock("x").acquire(0).release()


def test_a_break_that_cannot_be_recorded_whole_does_not_happen(home: Path) -> None:
    """The limit of the size of files makes a write short, as a full disk does."""
    program = f"""
import os, resource, vez
records = "{home}/breaks.jsonl"
client = vez.connect("file://{home}")
grant = client.lock("x").acquire()
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
try:
    client.break_lock("x", "first")
except vez.EngineUnavailable as error:
    print("nothing was broken" in str(error), grant.lost, os.path.getsize(records))
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
print(client.break_lock("x", "second").reason, grant.lost)
print([record.reason for record in client.inspect("x").breaks])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True False 10\nsecond True\n['second']\n", "")
