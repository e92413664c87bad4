"""`definite`: True if an error says that nothing was done, False if the outcome is unknown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import vez
from vez.errors import EngineUnavailable, LockTimeout, OwnershipLost, StaleToken
from vez.locks.fence import FileGuard


def test_what_was_done_under_a_lost_lock_is_not_known(client: vez.Client) -> None:
    grant = client.lock("x").acquire()
    assert client.break_lock("x", "a test") is not None
    for ask in (grant.check, grant.release):
        with pytest.raises(OwnershipLost) as caught:
            ask()
        assert caught.value.definite is False


def test_what_was_refused_was_not_done(client: vez.Client, tmp_path: Path) -> None:
    with client.lock("x"), ThreadPoolExecutor(1) as pool, pytest.raises(LockTimeout) as late:
        pool.submit(client.lock("x").acquire, 0).result(60)
    guard = FileGuard(tmp_path / "guarded")
    guard.write(b"new", 2)
    with pytest.raises(StaleToken) as stale:
        guard.write(b"old", 1)
    client.close()
    with pytest.raises(EngineUnavailable) as closed:
        client.lock("x").acquire()
    assert [caught.value.definite for caught in (late, stale, closed)] == [True, True, True]


def test_a_guarded_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "guarded"
    path.write_bytes(b"old")
    path.chmod(0o640)
    FileGuard(path).write(b"new", 1)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
