"""Guards refuse stale tokens: in memory, in a file, in SQLite, and in real PostgreSQL and Redis servers."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from vez.errors import BadData, CannotWrite, Misuse, StaleToken
from vez.locks.fence import FileGuard, MemoryGuard, RedisGuard, SqlGuard
from vez.testing.servers import Missing, postgres_server, redis_server

ROOT = Path(__file__).resolve().parents[3]
Write = Callable[[str, int | None], None]
Read = Callable[[], str]


def need(error: Missing) -> None:
    if os.environ.get("VEZ_REQUIRE_ALL") == "1":
        pytest.fail(f"{error} (VEZ_REQUIRE_ALL=1)")
    pytest.skip(str(error))


@contextmanager
def in_memory(tmp_path: Path) -> Iterator[tuple[Write, Read]]:
    guard, cell = MemoryGuard(), [""]

    def write(value: str, token: int | None) -> None:
        guard.admit("cell", token)
        cell[0] = value

    yield write, lambda: cell[0]


@contextmanager
def in_file(tmp_path: Path) -> Iterator[tuple[Write, Read]]:
    path = tmp_path / "cell"
    yield lambda value, token: FileGuard(path).write(value.encode(), token), path.read_text


@contextmanager
def in_sqlite(tmp_path: Path) -> Iterator[tuple[Write, Read]]:
    with closing(sqlite3.connect(tmp_path / "cell.db", check_same_thread=False)) as connection:
        yield _sql(connection, SqlGuard(mark="?"), "?")


@contextmanager
def in_postgres(tmp_path: Path) -> Iterator[tuple[Write, Read]]:
    psycopg = pytest.importorskip("psycopg")
    try:
        with postgres_server() as url, psycopg.connect(url) as connection:
            yield _sql(connection, SqlGuard(), "%s")
    except Missing as error:
        need(error)


def _sql(connection: Any, guard: SqlGuard, mark: str) -> tuple[Write, Read]:
    cursor = connection.cursor()
    cursor.execute(guard.create)
    cursor.execute("CREATE TABLE cell (value TEXT)")
    cursor.execute("INSERT INTO cell VALUES ('')")
    connection.commit()

    def write(value: str, token: int | None) -> None:
        try:
            guard.admit(cursor, "cell", token)
            cursor.execute(f"UPDATE cell SET value = {mark}", (value,))  # noqa: S608
            connection.commit()
        except BaseException:
            connection.rollback()
            raise

    def read() -> str:
        cursor.execute("SELECT value FROM cell")
        return str(cursor.fetchone()[0])

    return write, read


@contextmanager
def in_redis(tmp_path: Path) -> Iterator[tuple[Write, Read]]:
    redis = pytest.importorskip("redis")
    try:
        with redis_server() as port, closing(redis.Redis("127.0.0.1", port, decode_responses=True)) as client:
            guard = RedisGuard(client)
            yield lambda value, token: guard.set("cell", value, token), lambda: str(client.get("cell"))
    except Missing as error:
        need(error)


@pytest.fixture(params=[in_memory, in_file, in_sqlite, in_postgres, in_redis], ids=lambda guard: guard.__name__)
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Write, Read]]:
    with request.param(tmp_path) as pair:
        yield pair


def test_stale_tokens_are_refused_and_leave_nothing(guarded: tuple[Write, Read]) -> None:
    write, read = guarded
    big = 59_085_851_947_477  # as the file engine issues them
    write("first", big)
    write("again", big)
    write("second", big + 1)
    with pytest.raises(StaleToken, match=str(big + 1)):
        write("late", big)
    assert read() == "second"
    write("third", big + 2)
    assert read() == "third"
    with pytest.raises(Misuse, match="engine of this grant gives no fencing"):
        write("unfenced", None)
    for wrong in (0, -1, 1.5, "7", True):
        with pytest.raises(Misuse):
            write("wrong", wrong)  # type: ignore[arg-type]
    assert read() == "third"


def test_many_writers_end_with_the_highest_token(tmp_path: Path) -> None:
    guard, path = FileGuard(tmp_path / "cell"), tmp_path / "cell"
    accepted: list[int] = []

    def write(token: int) -> None:
        try:
            guard.write(str(token).encode(), token)
            accepted.append(token)
        except StaleToken:
            pass

    threads = [threading.Thread(target=write, args=(token,)) for token in range(1, 21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "20"
    assert guard.newest() == 20
    assert 20 in accepted


def test_a_damaged_fence_is_reported(tmp_path: Path) -> None:
    guard = FileGuard(tmp_path / "cell")
    guard.write(b"x", 7)
    guard.fence.write_bytes(b"3" + guard.fence.read_bytes()[1:])
    with pytest.raises(BadData, match="damaged"):
        guard.write(b"y", 5)


def test_the_paused_worker_of_the_example_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "paused_worker.py")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "its write is refused" in done.stdout
    assert done.stdout.endswith("the ledger says: written by the second worker\n")


def test_what_is_in_the_place_of_a_fence_is_an_error_of_vez(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.fence")
    (tmp_path / "b.fence").mkdir()
    for name in ("a", "b"):
        for use in (FileGuard(tmp_path / name).newest, lambda name=name: FileGuard(tmp_path / name).write(b"x", 1)):
            with pytest.raises(CannotWrite, match=f"{name}.fence"):
                use()
    with pytest.raises(Misuse, match="zero byte"):
        FileGuard("a\0b")


def test_a_full_disk_is_an_error_of_vez_and_replaces_nothing(tmp_path: Path) -> None:
    """The limit on the size of files stands for the full disk: `write` fails in the same places."""
    program = f"""
import resource, signal
from vez.errors import CannotWrite
from vez.locks.fence import FileGuard
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
guard, fresh = FileGuard({str(tmp_path / "a")!r}), FileGuard({str(tmp_path / "b")!r})
guard.write(b"one", 1)
for limit in (0, 40):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for each in (guard, fresh):
        try:
            each.write(b"x" * 100, 2)
        except CannotWrite as error:
            print(error)
print(guard.path.read_bytes(), fresh.path.exists())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.count("cannot write") == 4
    assert done.stdout.endswith("b'one' False\n")
