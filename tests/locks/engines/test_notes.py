"""What is noted of jobs that run once in a period: before the start, in `vez status` and `vez doctor`, and when pruned."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import vez
import vez.aio
from vez.cli.app import run
from vez.errors import CorruptState, EngineUnavailable
from vez.locks.turns import periods
from vez.locks.turns.periods import Period, done_in, is_past
from vez.testing import eventually

Start = Callable[..., "subprocess.Popen[str]"]
EVERY = ("run", "x", "--every", "366d")
ZONES = ("UTC", "Europe/Lisbon", "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Auckland")


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield ZoneInfo(request.param)
    time.tzset()


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=90)
    return process.returncode, out, err


def noted(client: vez.Client, name: str, memo: str) -> None:
    with client.lock(name) as grant:
        client.engine.write_memo(name, memo, grant.token)


# Before the start


def without_room() -> None:
    """No file can be written from here on, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def test_a_command_that_could_not_be_noted_as_done_is_not_run(start: Start, client: vez.Client) -> None:
    with client.lock("x"):
        pass
    code, out, err = finish(start(*EVERY, "--", "echo", "ran", preexec_fn=without_room))
    assert (code, out) == (69, "")
    assert "the work of 'x' was not started, because it could not be noted as done: cannot write" in err
    assert finish(start(*EVERY, "--", "echo", "ran"))[1] == "ran\n"


def test_a_function_that_could_not_be_noted_as_done_is_not_called(client: vez.Client) -> None:
    done: list[int] = []
    work = client.lock("x").every("366d")(lambda: done.append(1))
    with client.lock("x"):
        pass
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(EngineUnavailable, match="was not started") as found:
            work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not done
    assert "cannot write" in found.value.message
    work()
    work()
    assert done == [1]


def test_a_success_that_cannot_be_noted_is_told(start: Start, home: Path) -> None:
    script = f"rm {home}/memo.lock.x; mkdir {home}/memo.lock.x; echo ran"
    code, out, err = finish(start(*EVERY, "--", "sh", "-c", script))
    assert (code, out) == (65, "ran\n")
    assert "memo.lock.x" in err


def test_a_failure_leaves_the_notes_of_other_periods(start: Start, client: vez.Client) -> None:
    assert finish(start("run", "x", "--every", "1w", "--", "echo", "ran"))[1] == "ran\n"
    assert finish(start(*EVERY, "--", "false"))[0] == 1
    assert finish(start("run", "x", "--every", "1w", "--", "echo", "ran"))[1] == ""
    assert [one.every for one in client.inspect("x").done] == ["1w"]


def test_who_was_told_of_a_wait_is_told_that_the_command_was_skipped(start: Start, client: vez.Client) -> None:
    """Without a terminal. Who did not have to wait is told nothing, so that cron sends no mail."""
    with client.lock("x") as grant:
        waiter = start(*EVERY, "--", "echo", "ran")
        assert waiter.stderr is not None
        assert waiter.stderr.readline().startswith("vez: waiting for x: 1 before us")
        quiet = start(*EVERY, "--quiet", "--", "echo", "ran")
        eventually(lambda: len(client.inspect("x").queue) == 2)
        period = Period("366d")
        client.engine.write_memo("x", period.memo(period.current()), grant.token)
    assert finish(waiter) == (0, "", "vez: x has already run in this period of 366d\n")
    assert finish(quiet) == (0, "", "")
    assert finish(start(*EVERY, "--", "echo", "ran")) == (0, "", "")


# Again


def test_again_runs_it_once_more_in_its_period_and_notes_it(start: Start, client: vez.Client) -> None:
    assert finish(start(*EVERY, "--", "echo", "ran")) == (0, "ran\n", "")
    (first,) = client.inspect("x").done
    noted(client, "x", f"every {366 * 86400} s: period {Period('366d').current()}, done at {first.at - 100}")
    assert finish(start(*EVERY, "--again", "--", "echo", "again")) == (0, "again\n", "")
    (second,) = client.inspect("x").done
    assert second.at >= first.at
    assert finish(start(*EVERY, "--", "echo", "ran")) == (0, "", "")


def test_again_needs_a_period(start: Start) -> None:
    code, _, err = finish(start("run", "x", "--again", "--", "true"))
    assert code == 64
    assert "--again has no effect without --every" in err


def test_in_python_the_function_itself_is_called_again(client: vez.Client) -> None:
    lock, done = client.lock("x"), list[int]()
    work = lock.every("1d")(lambda: done.append(1))
    work()
    with lock:
        work.__wrapped__()  # type: ignore[attr-defined]  # functools.wraps sets it
    assert done == [1, 1]


# What is shown


def test_status_shows_when_a_job_was_done_and_when_it_runs_again(
    client: vez.Client, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    day, hour, week = Period("1d"), Period("1h"), Period("1w")
    memo = day.memo(day.current(), hour.memo(hour.current() - 3, week.memo(week.current() + 9)))
    noted(client, "nightly", memo)
    client.prune()
    with client.lock("plain"):
        pass
    for words in (["status"], ["status", "nightly"], ["status", "--all"]):
        assert run([*words, "--url", client.url]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "every" in line]
        assert len(lines) == 3
        assert "nightly" in lines[0]
        assert re.search(r"done [\d.]+ m?s ago, every 1d; next period begins in \d+", lines[0])
        assert re.search(r"done [\d.]+ m?s ago, every 1h; due since \d+", lines[1])
        assert "due, every 1w; noted as done by a clock that was ahead" in lines[2]
        before = [re.split(r"\b(?:done|due)\b", line)[0].split() for line in lines]
        assert before == [["nightly", "lock"], [], []], "an age stands under `since`"
    assert run(["status", "--json", "--url", client.url]) == 0
    (found,) = json.loads(capsys.readouterr().out)["names"]
    assert [(one["every"], one["due"]) for one in found["done"]] == [("1d", False), ("1h", True), ("1w", True)]
    assert all(set(one) == {"every", "at", "next_at", "due"} for one in found["done"])


def test_the_next_period_begins_where_the_calendar_says(zone: ZoneInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on the days when the clocks change, and on both sides of the moment at which the period begins."""
    for moment in (datetime(2026, month, 28, 12, 30, tzinfo=zone) for month in range(1, 13)):
        monkeypatch.setattr(time, "time", moment.timestamp)
        day, week = Period("1d"), Period("1w")
        week_done, day_done = done_in("x", week.memo(week.current(), day.memo(day.current())))
        tomorrow = (moment + timedelta(days=1)).replace(hour=0, minute=0)
        monday = (moment + timedelta(days=7 - moment.weekday())).replace(hour=0, minute=0)
        assert (day_done.next_at, week_done.next_at) == (tomorrow.timestamp(), monday.timestamp())
        for done, period in ((day_done, day), (week_done, week)):
            assert not done.due
            before = period.current()
            monkeypatch.setattr(time, "time", lambda at=done.next_at: at - 1)
            assert period.current() == before
            monkeypatch.setattr(time, "time", lambda at=done.next_at: at)
            assert period.current() == before + 1
            monkeypatch.setattr(time, "time", moment.timestamp)


def test_a_job_without_any_note_shows_nothing(client: vez.Client, capsys: pytest.CaptureFixture[str]) -> None:
    noted(client, "x", "")
    assert run(["status", "--url", client.url]) == 0
    assert "nobody holds or waits for anything" in capsys.readouterr().out
    assert client.prune() == 1
    assert client.locks() == []


@pytest.mark.parametrize("content", [b"vez memo 1 00000000\n5\nx\ntext", b"", None])
def test_a_damaged_note_is_named_with_what_to_do(
    client: vez.Client, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", "300")
    noted(client, "x", Period("1d").memo(0))
    path = home / "memo.lock.x"
    if content is None:  # the memo of another name
        noted(client, "y", Period("1d").memo(0))
        content = (home / "memo.lock.y").read_bytes()
        (home / "memo.lock.y").unlink()
    path.write_bytes(content)
    for command, code in ((["status"], 65), (["status", "x"], 65), (["prune"], 65), (["doctor", client.url], 1)):
        assert run(command + ([] if command[0] == "doctor" else ["--url", client.url])) == code
        told = " ".join("".join(capsys.readouterr()).split())
        assert f"{path} is damaged" in told
        assert "remove it" in told
    with pytest.raises(CorruptState):
        client.inspect("x")
    assert path.exists()
    path.unlink()
    assert run(["doctor", client.url]) == 0
    assert "notes of periodic jobs none" in " ".join(capsys.readouterr().out.split())
    noted(client, "x", Period("1d").memo(0))
    assert run(["doctor", client.url]) == 0
    assert "notes of periodic jobs 1, all can be read" in " ".join(capsys.readouterr().out.split())


def test_a_note_that_speaks_of_no_period_is_named(client: vez.Client, capsys: pytest.CaptureFixture[str]) -> None:
    noted(client, "x", "what is this")
    assert run(["status", "--url", client.url]) == 65
    assert "the memo of 'x' says nothing of a period" in " ".join(capsys.readouterr().out.split())
    assert client.lock("x").every("1d")(lambda: 5)() == 5
    assert run(["status", "--url", client.url]) == 0


# Pruning


def test_a_memo_is_past_when_a_whole_period_has_passed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a host whose clock is less than a period behind does not find its period forgotten."""
    day = Period("1d")
    today = day.current()
    assert [is_past(day.memo(today + ahead)) for ahead in (-3, -2, -1, 0, 1, 400)] == [True, True] + [False] * 4
    assert not is_past(None)
    assert is_past("")
    assert not is_past("what is this")
    assert not is_past(day.memo(today - 5) + "\nwhat is this")
    assert not is_past(day.memo(today - 5, Period("1w").memo(Period("1w").current())))
    memo, now = day.memo(today), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 86400)
    assert not is_past(memo)
    monkeypatch.setattr(time, "time", lambda: now + 2 * 86400)
    assert is_past(memo)


def test_pruning_forgets_nothing_that_another_holder_notes_meanwhile(client: vez.Client) -> None:
    """The memo is read again under the lock: here it has changed between the first look and the lock."""
    day = Period("1d")
    noted(client, "x", day.memo(day.current() - 5))
    engine, looks = client.engine, list[str | None]()
    memo, newest = engine.memo, day.memo(day.current())

    def look(name: str) -> str | None:
        looks.append(memo(name))
        if len(looks) == 1:
            noted(client, "x", newest)
        return looks[-1]

    engine.memo = look  # type: ignore[method-assign, assignment]
    client.prune()
    assert len(looks) == 2
    assert memo("x") == newest


def test_tasks_prune_and_inspect_as_threads_do(client: vez.Client) -> None:
    day = Period("1d")
    noted(client, "old", day.memo(day.current() - 5))
    noted(client, "new", day.memo(day.current()))

    async def main() -> None:
        async with vez.aio.connect(client.url) as other:
            assert [one.due for name in ("old", "new") for one in (await other.inspect(name)).done] == [True, False]
            assert await other.prune() == 2
            assert await other.locks() == ["new"]

    asyncio.run(main())


def test_a_name_that_is_cut_in_the_file_name_is_found_by_its_memo(client: vez.Client) -> None:
    name = "ä" * 90
    noted(client, name, Period("1d").memo(Period("1d").current()))
    client.prune()
    assert client.locks() == [name]
    assert client.inspect(name).done


def test_memory_forgets_as_well() -> None:
    day = Period("1d")
    with vez.connect(f"memory:{os.urandom(4).hex()}") as client:
        noted(client, "x", day.memo(day.current() - 5))
        assert client.prune() == 1
        assert client.engine.memo("x") is None


def test_a_wait_over_midnight_is_for_the_day_before(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who arrived on the day that the holder has done meanwhile has nothing left to do, and the new day is not done."""
    day, ran = [100], list[int]()
    monkeypatch.setattr(periods, "_current", lambda _: day[0])
    work = client.lock("x").every("1d")(lambda: ran.append(day[0]))
    with ThreadPoolExecutor(1) as pool:
        with client.lock("x") as grant:
            late = pool.submit(work)
            eventually(lambda: len(client.inspect("x").queue) == 1, "it waits")
            client.engine.write_memo("x", Period("1d").memo(100), grant.token)
            day[0] = 101
        late.result(60)
    assert ran == []
    work()
    work()
    assert ran == [101]
