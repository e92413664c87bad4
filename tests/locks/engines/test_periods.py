"""Work that is done once in a period: `Lock.every`, `vez run --every`, and the memos of `file:` that remember it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import vez
import vez.aio
from tests.processes import is_alive
from vez.cli.app import run
from vez.errors import CorruptState, EngineUnavailable, Misuse
from vez.locks.turns.periods import Period
from vez.testing import eventually

ZONES = ("UTC", "Europe/Lisbon", "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Auckland")
LENGTHS = ("1s", "30s", "1m", "15m", "90m", "1h", "6h", "12h", "24h", "1d", "2d", "30d", "1w", "366d")
SECONDS = 60


@pytest.fixture
def zone() -> Iterator[Callable[[str], None]]:
    before = os.environ.get("TZ")

    def choose(name: str) -> None:
        os.environ["TZ"] = name
        time.tzset()

    yield choose
    os.environ.pop("TZ", None)
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def at(moment: datetime, length: Period, patch: pytest.MonkeyPatch) -> int:
    """The number of the period at this moment."""
    with patch.context() as clock:
        clock.setattr(time, "time", moment.timestamp)
        return length.current()


def begins(moment: datetime, length: Period) -> tuple[object, ...]:
    """What names the period in which a moment of local time lies, by the calendar instead of by seconds since 1970."""
    if length.seconds % 604800 == 0:
        monday = moment.date() - timedelta(days=moment.weekday())
        return ((monday - datetime(1969, 12, 29).date()).days // (length.seconds // 86400),)
    if length.seconds >= 86400:
        return ((moment.date() - datetime(1970, 1, 1).date()).days // (length.seconds // 86400),)
    inside = moment.hour * 3600 + moment.minute * 60 + moment.second
    return moment.date(), inside // length.seconds


@pytest.mark.parametrize("name", ZONES)
def test_two_moments_are_in_one_period_if_the_calendar_says_so(
    name: str, zone: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(name)
    moments = some.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31)).map(lambda one: one.replace(tzinfo=UTC))

    @settings(max_examples=300, deadline=None)
    @given(
        moments, some.sampled_from((0.5, 1, 59, 1800, 3600, 7200, 40_000, 86_400, 604_800)), some.sampled_from(LENGTHS)
    )
    def compare(one: datetime, later: float, text: str) -> None:
        length, other = Period(text), one + timedelta(seconds=later)
        alike = at(one, length, monkeypatch) == at(other, length, monkeypatch)
        local = [begins(moment.astimezone(ZoneInfo(name)), length) for moment in (one, other)]
        assert alike == (local[0] == local[1])

    compare()


def test_a_job_at_three_in_the_morning_has_one_period_each_day_of_the_year(
    zone: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on the days when the clocks change."""
    zone("Europe/Lisbon")
    for hour in (0, 3, 23):
        days = [datetime(2026, 1, 1, hour, tzinfo=ZoneInfo("Europe/Lisbon")) + timedelta(days=n) for n in range(365)]
        numbers = [at(day, Period("1d"), monkeypatch) for day in days]
        assert numbers == list(range(numbers[0], numbers[0] + 365))


@pytest.mark.parametrize(
    ("text", "words"),
    [("7h", "divides a day"), ("36h", "divides a day"), ("7s", "divides a day"), ("25h", "divides a day")]
    + [(text, "is a number and one of") for text in ("", "d", "1", "0d", "-1d", "1.5h", "1 d", "1D", "²d", "367d", "1y")]
    + [(text, "is a number and one of") for text in (1, None, timedelta(days=1), "1" * 5000 + "d")],
)  # fmt: skip
def test_what_is_no_period_is_refused(text: Any, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        Period(text)


def test_who_waited_into_the_next_period_does_not_do_the_work_of_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    day = Period("1d")
    late = day.current() - 1
    assert day.is_done(day.memo(late), late)
    assert day.is_done(day.memo(late + 1), late)
    assert not day.is_done(day.memo(late), late + 1)
    assert not day.is_done(None, late)
    assert not day.is_done(Period("1h").memo(late), late)
    assert Period("24h").is_done(day.memo(late), late)


def test_a_clock_that_was_years_ahead_does_not_stop_the_work_for_years() -> None:
    day = Period("1d")
    today = day.current()
    assert day.is_done(day.memo(today + 1), today), "another host's clock may be ahead"
    assert not day.is_done(day.memo(today + 400), today)
    for nonsense in ("", "every", "every 86400 s: period ²", "every 86400 s: period " + "9" * 5000 + ", done at 1"):
        assert not day.is_done(nonsense, today)
        assert day.memo(today, nonsense) == day.memo(today)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[vez.Client]:
    with vez.connect(f"file://{tmp_path}/turns") as made:
        yield made


def test_the_arguments_and_the_name_of_the_function_are_kept(client: vez.Client) -> None:
    @client.lock("x").every("1d")
    def report(day: int, *, to: str) -> str:
        """Send it."""
        return f"{day} {to}"

    assert (report.__name__, report.__doc__) == ("report", "Send it.")
    assert (report(3, to="ada"), report(3, to="ada")) == ("3 ada", None)


def test_a_new_period_is_done_again(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    report = client.lock("x").every("1d")(lambda: done.append(1))
    now = time.time()
    for day in range(3):
        monkeypatch.setattr(time, "time", lambda day=day: now + 86400 * day)
        report()
        report()
    assert len(done) == 3


def test_jobs_of_different_periods_may_share_a_lock(client: vez.Client) -> None:
    done: list[str] = []
    lock = client.lock("shared")
    jobs = [lock.every(period)(partial(done.append, period)) for period in ("1w", "1d", "12h", "366d")]
    for _ in range(3):
        for job in jobs:
            job()
    assert done == ["1w", "1d", "12h", "366d"]


def test_work_during_which_the_lock_was_lost_does_not_count(client: vez.Client) -> None:
    done = []

    @client.lock("lost", grace=0).every("366d")
    def work() -> None:
        done.append(1)
        if len(done) == 1:
            assert client.break_lock("lost", "a test") is not None

    with pytest.raises(vez.OwnershipLost):
        work()
    work()
    work()
    assert len(done) == 2


def test_every_under_terms(client: vez.Client) -> None:
    done = []
    lock = client.lock("x", reentrant=True, at_least=0.001)
    report = lock.every("1d")(lambda: done.append(lock.owned))
    report()
    with lock:
        report()
    assert done == [True]


@pytest.mark.parametrize("kind", ["shared", "semaphore", "election"])
def test_every_needs_a_lock_that_one_holds_alone(client: vez.Client, kind: str) -> None:
    made = {
        "shared": client.read_lock,
        "semaphore": lambda name: client.semaphore(name, 2),
        "election": client.election,
    }
    with pytest.raises(Misuse, match="holds alone"):
        made[kind]("x").every("1d")


def test_functions_of_the_wrong_kind_are_refused(client: vez.Client) -> None:
    async def task() -> None:
        pass

    with pytest.raises(Misuse, match="coroutine"):
        client.lock("x").every("1d")(task)

    async def main() -> None:
        async with vez.aio.connect("memory:") as other:
            with pytest.raises(Misuse, match="not a coroutine"):
                other.lock("x").every("1d")(lambda: None)  # type: ignore[arg-type, return-value]

    asyncio.run(main())


def test_an_engine_without_memos_is_refused_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with vez.connect("memory:") as client:
        monkeypatch.setattr(client.engine, "traits", client.engine.traits._replace(memos=False))
        with pytest.raises(Misuse, match="keeps nothing"):
            client.lock("x").every("1d")(lambda: None)


def test_an_engine_without_memos_says_which_has_them() -> None:
    from vez.locks.engines.seam import AsyncEngine, Engine

    class Without:
        url = "without:secret@x"

    with pytest.raises(Misuse, match="keeps nothing") as refused:
        Engine.memo(Without(), "x")  # type: ignore[arg-type]
    assert "memos" in (refused.value.hint or "")
    with pytest.raises(Misuse, match="keeps nothing"):
        asyncio.run(AsyncEngine.write_memo(Without(), "x", "text", 1))  # type: ignore[arg-type]


# The files of `file:`


def memo_file(client: vez.Client, tmp_path: Path, name: str = "x") -> Path:
    with client.lock(name) as grant:
        client.engine.write_memo(name, "the text", grant.token)
    return tmp_path / "turns" / f"memo.lock.{name}"


def test_the_file_of_a_memo_is_private_and_pruning_leaves_it(client: vez.Client, tmp_path: Path) -> None:
    path = memo_file(client, tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert client.prune() == 1
    assert client.locks() == ["x"]
    assert client.engine.memo("x") == "the text"
    assert sorted(one.name for one in path.parent.iterdir()) == ["memo.lock.x", "pruned.tokens"]


@pytest.mark.parametrize("content", [b"", b"x", b"vez memo 1 00000000\n5\ntext", b"\xff" * 100, b"0" * 5000])
def test_a_damaged_memo_is_reported_and_nothing_is_done(client: vez.Client, tmp_path: Path, content: bytes) -> None:
    path = memo_file(client, tmp_path)
    path.write_bytes(content)
    done: list[int] = []
    with pytest.raises(CorruptState, match="is damaged") as found:
        client.lock("x").every("1d")(lambda: done.append(1))()
    assert not done
    assert "remove it" in (found.value.hint or "")
    path.unlink()
    client.lock("x").every("1d")(lambda: done.append(1))()
    assert done


@pytest.mark.parametrize("body", [b"1\nx\n\xff", b"1\n\xff\ntext", b"\xb2\nx\ntext"])
def test_a_memo_that_is_no_text_is_reported_and_hides_no_other_name(
    client: vez.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    path = memo_file(client, tmp_path)
    path.write_bytes(b"vez memo 1 %08x\n" % zlib.crc32(body) + body)
    memo_file(client, tmp_path, "beside")
    url = f"file://{path.parent}"
    with client.lock("another"):
        assert run(["status", "--url", url]) == 65
    told = "".join(capsys.readouterr())
    assert "another" in told
    assert "is damaged" in told
    assert run(["prune", "--url", url]) == 65
    assert "memo.lock.x is damaged" in capsys.readouterr().err
    assert run(["run", "--url", url, "--every", "1d", "x", "--", "true"]) == 65
    long = path.with_name("memo.lock." + "y" * 100 + "~1")  # its name is read from the file
    path.replace(long)
    assert run(["status", "--url", url]) == 65
    assert "is damaged" in "".join(capsys.readouterr())


def test_every_change_of_a_byte_is_noticed(client: vez.Client, tmp_path: Path) -> None:
    path = memo_file(client, tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CorruptState):
            client.engine.memo("x")
        path.write_bytes(whole[:place])
        with pytest.raises(CorruptState):
            client.engine.memo("x")


@pytest.mark.parametrize("kind", ["directory", "pipe", "link"])
def test_what_is_no_file_is_not_read(client: vez.Client, tmp_path: Path, kind: str) -> None:
    path = memo_file(client, tmp_path)
    path.unlink()
    if kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/etc/hostname")
    with pytest.raises((CorruptState, EngineUnavailable)):
        client.engine.memo("x")


def test_a_reader_sees_the_old_memo_or_the_new_one(client: vez.Client, tmp_path: Path) -> None:
    texts = ["a" * 1000, "b" * 2000]
    with client.lock("x") as grant, ThreadPoolExecutor(1) as pool:
        client.engine.write_memo("x", texts[0], grant.token)

        def write() -> None:
            for number in range(100):
                client.engine.write_memo("x", texts[number % 2], grant.token)

        writing = pool.submit(write)
        with vez.connect(f"file://{tmp_path}/turns") as other:
            while not writing.done():
                assert other.engine.memo("x") in texts
        writing.result()


WRITER = """
import sys
import vez
with vez.connect(sys.argv[1]) as client:
    while True:
        with client.lock("x") as grant:
            client.engine.write_memo("x", f"{grant.token} " * 50, grant.token)
        print(grant.token, flush=True)
"""


def test_a_memo_that_was_written_survives_a_kill_at_any_moment(client: vez.Client, tmp_path: Path) -> None:
    for _ in range(10):
        command = [sys.executable, "-c", WRITER, client.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            last = [int(process.stdout.readline()) for _ in range(3)][-1]
            process.kill()
            rest = process.stdout.read().split()
        done = max([last, *map(int, rest[:-1])])
        memo = client.engine.memo("x") or ""
        assert len(set(memo.split())) == 1, "one memo, not parts of two"
        assert int(memo.split()[0]) >= done
    client.prune()
    left = [one.name for one in (tmp_path / "turns").iterdir()]
    assert not [name for name in left if name.startswith(".new-")], "what a killed writer left is removed"


# `vez run --every`

Start = Callable[..., "subprocess.Popen[str]"]


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


def test_the_command_runs_once_in_a_period(start: Start) -> None:
    results = [finish(start("run", "nightly", "--every", "366d", "--no-wait", "--", "echo", "ran")) for _ in range(3)]
    assert results == [(0, "ran\n", ""), (0, "", ""), (0, "", "")]
    code, out, err = finish(start("run", "nightly", "--every", "366d", "--json", "--", "echo", "ran"))
    assert (code, out, [json.loads(line)["event"] for line in err.splitlines()]) == (0, "", ["skipped"])


def test_two_hosts_at_once_run_it_once(start: Start) -> None:
    both = [start("run", "x", "--every", "366d", "--", "sh", "-c", "echo ran; sleep 0.2") for _ in range(4)]
    assert sorted(finish(one)[1] for one in both) == ["", "", "", "ran\n"]


@pytest.mark.parametrize("script", ["exit 3", "kill -9 $$"])
def test_a_command_that_failed_is_run_again_in_the_same_period(start: Start, script: str) -> None:
    assert finish(start("run", "x", "--every", "366d", "--", "sh", "-c", script))[0] != 0
    assert finish(start("run", "x", "--every", "366d", "--", "echo", "ran"))[1] == "ran\n"
    assert finish(start("run", "x", "--every", "366d", "--", "echo", "ran"))[1] == ""


def test_a_killed_run_does_not_count(start: Start, client: vez.Client) -> None:
    first = start("run", "x", "--every", "366d", "--", "sh", "-c", "echo $$; exec sleep 60")
    assert first.stdout is not None
    command = int(first.stdout.readline())
    first.send_signal(signal.SIGKILL)
    first.wait(SECONDS)
    eventually(lambda: not is_alive(command), "the end of the command")
    assert finish(start("run", "x", "--every", "366d", "--", "echo", "ran"))[1] == "ran\n"


@pytest.mark.parametrize("other", ["--shared", "--leader", "--semaphore 2", "--at-least 5"])
def test_options_that_exclude_it(start: Start, other: str) -> None:
    code, _, err = finish(start("run", "x", "--every", "1d", *other.split(), "--", "true"))
    assert code == 64
    assert f"--every and {other.split()[0]} exclude each other" in err


def test_a_wrong_period_is_refused_before_anything_runs(start: Start) -> None:
    code, out, err = finish(start("run", "x", "--every", "7h", "--", "echo", "ran"))
    assert (code, out) == (64, "")
    assert "12h" in err
