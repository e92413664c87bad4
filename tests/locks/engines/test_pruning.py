"""Names that nobody uses take no room, and their tokens are never issued again."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

import vez
import vez.testing
from tests import prepared
from vez.errors import CorruptState
from vez.locks.engines.file import layout, mark, pruning


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "turns"


@pytest.fixture
def client(home: Path) -> Iterator[vez.Client]:
    with vez.connect(f"file://{home}") as made:
        yield made


def vez_command(*words: str) -> subprocess.CompletedProcess[str]:
    return prepared.vez(*words)


def token_of(client: vez.Client, name: str = "x") -> int:
    with client.lock(name) as grant:
        return grant.token


def test_idle_names_go_and_names_in_use_stay(client: vez.Client, home: Path) -> None:
    for name in ("a", "b", "held"):
        token_of(client, name)
    with client.semaphore("s", 2), client.election("e"), client.lock("held"):
        assert client.prune() == 2
        assert client.locks() == ["held"]
        assert client.locks(kind="semaphore") == ["s"]
        assert client.locks(kind="election") == ["e"]
        assert client.prune() == 0
    assert client.prune() == 3
    assert sorted(entry.name for entry in home.iterdir()) == [mark.MARK]


def test_a_prefix_narrows_it(client: vez.Client) -> None:
    for name in ("a/1", "a/2", "b/1"):
        token_of(client, name)
    assert client.prune("a/") == 2
    assert client.locks() == ["b/1"]


def test_names_that_somebody_waits_for_or_watches_stay(client: vez.Client) -> None:
    with contextlib.closing(cast(Generator[object, None, None], client.election("e").observe(5))) as watched:
        assert next(watched) is None
        assert client.prune() == 0
    assert client.prune() == 1
    with client.lock("x"):
        waiter = threading.Thread(target=token_of, args=(client,))
        waiter.start()
        vez.testing.eventually(lambda: len(client.inspect("x").queue) == 1)
        assert client.prune() == 0
    waiter.join(5)
    assert not waiter.is_alive()
    assert client.prune() == 1


def test_tokens_grow_though_the_clock_was_turned_back(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    first = token_of(client)
    monkeypatch.setattr(layout, "now_ticket", lambda: 1)
    assert client.prune() == 1
    second = token_of(client)
    assert second > first
    assert client.prune() == 1
    assert token_of(client) > second
    assert token_of(client, "another") > second, "the mark is the directory's"


def test_without_the_mark_a_clock_turned_back_would_repeat_tokens(
    client: vez.Client, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the test above can fail."""
    first = token_of(client)
    monkeypatch.setattr(layout, "now_ticket", lambda: 1)
    client.prune()
    (home / mark.MARK).unlink()
    assert token_of(client) < first


def test_a_damaged_mark_grants_nothing(client: vez.Client, home: Path) -> None:
    token_of(client)
    client.prune()
    (home / mark.MARK).write_bytes(bytes(144))
    with pytest.raises(CorruptState, match=mark.MARK):
        token_of(client)
    with pytest.raises(CorruptState, match=mark.MARK):
        token_of(client, "another")


def test_one_torn_record_of_the_mark_is_survived(
    client: vez.Client, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = token_of(client)
    monkeypatch.setattr(layout, "now_ticket", lambda: 1)
    client.prune()
    page = bytearray((home / mark.MARK).read_bytes())
    newest = max(layout.DURABLE_AT, key=lambda at: layout.DURABLE.unpack_from(page, at)[1])
    older = next(at for at in layout.DURABLE_AT if at != newest)
    page[older] ^= 1  # the next write goes here, and a crash may tear it
    (home / mark.MARK).write_bytes(page)
    assert token_of(client) > first


def test_a_mark_that_cannot_be_made_durable_keeps_the_files(
    client: vez.Client, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token_of(client)

    def fail(handle: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(vez.errors.EngineUnavailable, match="cannot prune"):
        client.prune()
    monkeypatch.undo()
    assert client.locks() == ["x"]


def test_damaged_files_stay(client: vez.Client, home: Path) -> None:
    token_of(client)
    (home / "lock.x").write_bytes(b"something else")
    (home / "lock.link").symlink_to("lock.x")
    os.mkfifo(home / "lock.pipe")
    assert client.prune() == 0
    assert (home / "lock.x").read_bytes() == b"something else"


def test_a_copy_under_another_name_stays_and_is_named(client: vez.Client, home: Path) -> None:
    token_of(client, "x")
    for other in ("lock.y", "election.x"):
        (home / other).write_bytes((home / "lock.x").read_bytes())
    token_of(client, "z")
    with (home / "lock.z").open("r+b") as file:
        file.seek(layout.BROKEN_AT)
        file.write(b"\xff" * 8)
    done = vez_command("prune", "--url", client.url)
    assert (done.returncode, done.stdout) == (65, "removed 1 idle name, 3 left\n")
    assert [line.split()[1] for line in done.stderr.splitlines()] == [
        str(home / name) for name in ("lock.y", "lock.z", "election.x")
    ]
    done = vez_command("prune", "--json", "--url", client.url)
    assert (done.returncode, len(json.loads(done.stdout)["damaged"])) == (65, 3)


def test_a_directory_prunes_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "FILES_KEPT", 100)
    with vez.connect(f"file://{home}") as client, client.lock("held") as held:
        before = [token_of(client, f"job/{number}") for number in range(250)]
        files = len(list(home.iterdir()))
        assert 50 < files <= 100 + pruning.SWEEP_EVERY + 2
        assert "held" in client.locks(), "it is the oldest, and in use"
        held.check()
        assert token_of(client, "job/0") > before[0]
    assert vez_command("status", "--all", "--json", "--url", f"file://{home}").returncode == 0


def _use(url: str, count: int, names: int, out: multiprocessing.SimpleQueue[list[tuple[str, int, int]]]) -> None:
    found = []
    with vez.connect(url) as client:
        for number in range(count):
            name = f"n{number % names}"
            with client.lock(name) as grant:
                book = Path(f"{url.removeprefix('file://')}.{name}")
                inside = int(book.read_text() or 0) if book.exists() else 0
                book.write_text(str(inside + 1))
                found.append((name, grant.token, inside))
    out.put(found)


def race(home: Path) -> tuple[int, bool]:
    """Three workers and a pruner. Returns the number of removed files, and True if the workers excluded each other.

    Every stay reads a plain counter and writes it back: two at once would lose an update, and an old token would show.
    """
    url, count, names, workers = f"file://{home}", 400, 3, 3
    context = multiprocessing.get_context("spawn")
    out: multiprocessing.SimpleQueue[list[tuple[str, int, int]]] = context.SimpleQueue()
    started = [context.Process(target=_use, args=(url, count, names, out)) for _ in range(workers)]
    for worker in started:
        worker.start()
    removed = 0
    with vez.connect(url) as client:
        while any(worker.is_alive() for worker in started):
            removed += client.prune()
    for worker in started:
        worker.join(30)
    entries = []
    while not out.empty():  # a worker that was refused has put nothing
        entries += out.get()
    sound = len(entries) == workers * count
    for name in {name for name, _, _ in entries}:
        stays = sorted((token, inside) for one, token, inside in entries if one == name)
        sound &= [inside for _, inside in stays] == list(range(len(stays)))  # in the order of the tokens, none lost
        sound &= len({token for token, _ in stays}) == len(stays)
    return removed, sound


@pytest.mark.long
def test_pruning_that_races_with_acquiring_loses_nothing(home: Path) -> None:
    removed, sound = race(home)
    assert sound
    assert removed > 0


def test_a_pruner_that_does_not_ask_is_noticed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the race above can fail."""
    monkeypatch.setattr(pruning, "conflict", lambda *arguments: None)
    assert not race(home)[1]


def test_the_command(client: vez.Client, home: Path) -> None:
    for name in ("a", "b"):
        token_of(client, name)
    url = f"file://{home}"
    with client.lock("held"):
        assert vez_command("prune", "a", "--url", url).stdout == "removed 1 idle name, 0 left\n"
        assert vez_command("prune", "--url", url).stdout == "removed 1 idle name, 1 left\n"
        expected = {"url": url, "removed": 0, "left": 1, "damaged": []}
        assert json.loads(vez_command("prune", "--json", "--url", url).stdout) == expected


KILLED = """
import os, signal, sys, vez
real = getattr(os, sys.argv[2])
def kill(*arguments, **options):
    if sys.argv[3] == "after":
        real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
with vez.connect(sys.argv[1]) as client:
    client.lock("first").acquire().release()
    setattr(os, sys.argv[2], kill)
    client.lock("x").acquire()
"""


@pytest.mark.parametrize(("call", "when"), [("fchmod", "before"), ("pwrite", "after"), ("fsync", "before"),
                                            ("link", "before"), ("link", "after")])  # fmt: skip
def test_what_a_killed_process_left_half_made_is_removed(home: Path, call: str, when: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, f"file://{home}", call, when], timeout=60)
    assert done.returncode == -9
    assert len(list(home.glob(".new-*"))) == 1
    with vez.connect(f"file://{home}") as client:
        token_of(client)
        client.prune()
        assert not list(home.glob(".new-*"))
        token_of(client)


def test_a_directory_that_prunes_itself_removes_leftovers(home: Path, client: vez.Client) -> None:
    (home / ".new-0123").write_bytes(b"begun")
    for number in range(pruning.SWEEP_EVERY + 1):
        token_of(client, f"n{number}")
    assert not list(home.glob(".new-*"))


def test_a_file_that_is_being_made_stays(home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = os.fsync, []

    def prune(handle: int) -> None:
        monkeypatch.undo()
        with vez.connect(f"file://{home}") as other:
            other.prune("nothing")  # a name that goes needs the mark, which is in use now
        seen.append(len(list(home.glob(".new-*"))))
        real(handle)

    token_of(client, "first")  # makes the file of the mark
    monkeypatch.setattr(os, "fsync", prune)
    token_of(client)
    assert seen == [1]
    assert not list(home.glob(".new-*"))


def test_a_file_that_is_removed_before_its_byte_is_locked_is_made_again(
    home: Path, client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    token_of(client, "first")
    real = vars(mark)["fcntl"]
    removed: list[Path] = []

    def remove(*arguments: int) -> object:
        if not removed:
            removed.extend(home.glob(".new-*"))
            client.prune("nothing")
        return real(*arguments)

    monkeypatch.setattr(mark, "fcntl", remove)
    token_of(client)
    assert len(removed) == 1
    assert not list(home.glob(".new-*"))
