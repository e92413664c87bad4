"""The keeper of `vez run`: the command and the lock after `vez run` or the keeper was killed."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import vez
from tests.processes import descendants, is_alive
from vez.cli import run
from vez.errors import LockTimeout
from vez.locks.engines.file import bell
from vez.locks.supervise import kept_command
from vez.locks.supervise.nested import outer, with_mine
from vez.testing import eventually

Start = Callable[..., subprocess.Popen[str]]
LEAVES = "setsid sh -c '{left} echo $$ $PPID; exec sleep 1000' & "
"""A command starts a process that leaves its group and its session, as daemons do."""


def numbers(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    return [int(word) for word in process.stdout.readline().split()]


def test_the_last_word_of_a_keeper_is_heard_although_it_left_a_signal_unread() -> None:
    """The socket first says that the connection was reset: a success was reported as the death of the keeper."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept = kept_command.Kept.__new__(kept_command.Kept)
    kept.ended, kept.failure, kept._control = None, None, ours
    ours.setblocking(False)
    kept.signal(signal.SIGWINCH)
    theirs.send(b"ended 0")
    theirs.close()
    kept.hear()
    ours.close()
    assert str((kept.ended, kept.failure)) == "(0, None)"


def keeper_of(command: int) -> int:
    """The parent of the command."""
    return int(Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[1])


def ended(*processes: int) -> bool:
    return not any(is_alive(process) for process in processes)


@pytest.mark.parametrize(
    ("words", "kind"), [((), "lock"), (("--leader",), "election"), (("--semaphore", "1"), "semaphore")]
)
def test_a_killed_vez_run_takes_along_all_that_it_started(
    start: Start, client: vez.Client, words: tuple[str, ...], kind: str
) -> None:
    """Also processes that have left the process group, and those that ignore TERM. No other request is granted
    before."""
    script = LEAVES.format(left='trap "" TERM;').replace("exec sleep 1000", "while :; do sleep 0.05; done") + "wait"
    process = start("run", "x", *words, "--kill-after", "0.5", "--", "sh", "-c", script)
    left, command = numbers(process)
    process.kill()
    request = client.election("x") if kind == "election" else client.lock("x")
    if kind == "semaphore":
        request = client.semaphore("x", 1)
    grant = request.acquire(20)
    assert ended(left, command)
    grant.release()


def test_the_lock_is_kept_as_long_as_something_is_left(start: Start, client: vez.Client) -> None:
    script = LEAVES.format(left='trap "" TERM;').replace("exec sleep 1000", "while :; do sleep 0.05; done") + "wait"
    process = start("run", "x", "--kill-after", "1000", "--", "sh", "-c", script)
    left, command = numbers(process)
    process.kill()
    try:
        eventually(lambda: ended(command), "the command has ended")
        with pytest.raises(LockTimeout):
            client.lock("x").acquire(0.3)
        assert is_alive(left)
        process.wait(60)
        (holder,) = client.inspect("x").holders
        assert holder.ended  # `vez status` says so
    finally:
        os.kill(left, signal.SIGKILL)
    client.lock("x").acquire(20).release()


def test_a_break_gives_the_keeper_its_grace(start: Start, client: vez.Client) -> None:
    script = LEAVES.format(left='trap "" TERM;').replace("exec sleep 1000", "while :; do sleep 0.05; done") + "wait"
    process = start("run", "x", "--kill-after", "0.5", "--", "sh", "-c", script)
    left, command = numbers(process)
    process.kill()
    assert client.break_lock("x", "a test") is not None
    assert ended(left, command)


def test_the_keeper_has_a_name_of_its_own(start: Start) -> None:
    """`pkill -f 'vez run'` must end `vez run` and not the keeper, which ends the command."""
    process = start("run", "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    (command,) = numbers(process)
    keeper = Path(f"/proc/{keeper_of(command)}")
    line = keeper.joinpath("cmdline").read_bytes().rstrip(b"\0").decode()
    assert line == f"keeper of process {process.pid}"
    assert keeper.joinpath("comm").read_text() == "keeper\n"
    assert b"run\0x\0--\0sh" in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    process.kill()
    eventually(lambda: ended(command, int(keeper.name)), "the keeper has ended the command, and itself")


def test_a_keeper_without_a_grant_ends_with_vez_run(start: Start, client: vez.Client) -> None:
    with client.lock("x"):
        process = start("run", "x", "--", "true")
        eventually(lambda: len(client.inspect("x").queue) == 1, "waiting")
        (keeper,) = descendants(process.pid)
        process.kill()
        eventually(lambda: ended(keeper), "the keeper has ended")


def test_the_command_has_no_descriptor_of_the_lock(start: Start, home: Path) -> None:
    process = start("run", "x", "--", "sh", "-c", "ls -l /proc/$$/fd /proc/self/fd; echo; read line")
    out, _ = process.communicate("\n", timeout=90)
    assert str(home) not in out
    assert "socket:" not in out


def test_a_killed_keeper_ends_the_command_and_vez_run(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--", "sh", "-c", LEAVES.format(left="") + "wait")
    left, command = numbers(process)
    os.kill(keeper_of(command), signal.SIGKILL)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 71
    assert "keeper" in err
    assert ended(left, command)
    assert client.inspect("x").holders == ()


def test_if_both_are_killed_the_kernel_kills_the_command(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    (command,) = numbers(process)
    keeper = keeper_of(command)
    for one in (process.pid, keeper):
        os.kill(one, signal.SIGSTOP)
    for one in (process.pid, keeper):
        os.kill(one, signal.SIGKILL)
    eventually(lambda: ended(command), "the command has ended")
    client.lock("x").acquire(20).release()


def test_a_stopped_keeper_does_not_keep_a_lost_command_alive(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--kill-after", "0.1", "--", "sh", "-c", "echo $$; exec sleep 1000")
    (command,) = numbers(process)
    os.kill(keeper_of(command), signal.SIGSTOP)
    assert client.break_lock("x", "a test") is not None
    process.communicate(timeout=90)
    assert process.returncode in (71, 76)
    assert ended(command)


def test_a_break_waits_longer_than_a_stopped_keeper_can_take() -> None:
    """Earlier, the next holder entered a second before the command of the broken holder was killed."""
    assert run._MARGIN >= kept_command.TARDY + bell.HOLDER_NET + 1


STUCK = """
import os, signal
from vez.locks.supervise import keeper

def stop(self, environment):
    print(os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

keeper.Keeper._start = stop
from vez.cli.app import main
main()
"""


def test_a_loss_is_obeyed_before_the_keeper_has_reported_the_start(home: Path, client: vez.Client) -> None:
    """A keeper that is stopped before it says that the command runs."""
    words = [sys.executable, "-c", STUCK, "run", "x", "--", "true"]
    environment = {**os.environ, "VEZ_URL": f"file://{home}"}
    process = subprocess.Popen(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    (keeper,) = numbers(process)
    try:
        assert client.break_lock("x", "a test") is not None
        process.wait(60)
    finally:
        for one in (process.pid, keeper):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.communicate(timeout=60)
    assert process.returncode == 76
    assert ended(keeper)


def test_signals_that_are_meant_for_vez_run_do_not_end_the_keeper(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--", "sh", "-c", "echo $$; read line; exit 5")
    (command,) = numbers(process)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        os.kill(keeper_of(command), number)
    process.communicate("\n", timeout=90)
    assert process.returncode == 5


def test_a_stopped_command_is_continued_with_vez_run(start: Start) -> None:
    """Without a terminal, `timeout` and systemd send TERM and then CONT to `vez run`."""
    process = start("run", "x", "--", "sh", "-c", "echo $$; kill -STOP $$; exit 6")
    (command,) = numbers(process)
    eventually(lambda: Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    process.send_signal(signal.SIGCONT)
    process.communicate("", timeout=90)
    assert process.returncode == 6


def test_ignored_signals_stay_ignored(start: Start) -> None:
    """As after `nohup`."""
    script = "grep SigIgn /proc/$$/status; read line; exit 4"
    process = start("run", "x", "--", "sh", "-c", script, preexec_fn=_ignore_hangup)
    assert process.stdout is not None
    ignored = int(process.stdout.readline().split()[1], 16)
    assert ignored & 1 << signal.SIGHUP - 1
    assert not ignored & 1 << signal.SIGTERM - 1
    process.send_signal(signal.SIGHUP)
    process.communicate("\n", timeout=90)
    assert process.returncode == 4


def _ignore_hangup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_claims_of_outer_runs_carry_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "etcd://me:secret@host:2379/?password=hidden"
    claims = with_mine(url, "lock", "x", 7)
    assert "secret" not in claims
    assert "hidden" not in claims
    monkeypatch.setenv("VEZ_HELD", claims)
    assert json.loads(with_mine(url, "lock", "y", 8))[0]["token"] == 7
    assert [held.name for held in outer()] == ["x"]


def test_the_terminal_stops_and_continues_the_command(home: Path) -> None:
    """Ctrl-Z and Ctrl-C reach the command, and `vez run` stops with it."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["VEZ_URL"] = f"file://{home}"
        words = ["-m", "vez", "run", "x", "--", "sh", "-c", "echo in; exec sleep 1000"]
        os.execv(sys.executable, [sys.executable, *words])  # noqa: S606
    try:
        seen = b""
        while b"in\r\n" not in seen:
            seen += os.read(terminal, 1024)
        eventually(lambda: len(descendants(child)) == 2, "keeper and command")
        eventually(lambda: os.tcgetpgrp(terminal) != child, "the command has the terminal")
        os.write(terminal, b"\x1a")
        assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
        assert os.tcgetpgrp(terminal) == child
        os.kill(child, signal.SIGCONT)
        eventually(lambda: os.tcgetpgrp(terminal) != child, "the command has the terminal again")
        os.write(terminal, b"\x03")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 130
    finally:
        if is_alive(child):
            os.kill(child, signal.SIGKILL)
            time.sleep(0)
        os.close(terminal)
