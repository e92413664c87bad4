"""vez without calls that only Linux or POSIX has: each check runs in a process from which these calls were removed.

The standard library is loaded before, because it uses some of the calls depending on the system. The checks show which
calls vez needs; they do not replace a run on another system.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.prepared import without_vez
from vez.cli.app import COMMANDS

TAKE_AWAY = """
import asyncio, concurrent.futures.process, ctypes, fcntl, logging, multiprocessing.util, os, platform, select, selectors
import signal, socket, subprocess, sys, tempfile, threading, urllib.request
import click, msgspec, rich.console, rich.progress, rich.table, pytest

pair, unix = socket.socketpair, socket.AF_UNIX
socket.socketpair = lambda *_: pair(unix)  # elsewhere it is made of two connections
selectors.DefaultSelector = asyncio.selector_events.selectors.DefaultSelector = selectors.SelectSelector

LINUX = {
    os: "pidfd_open sched_getaffinity sched_setaffinity posix_fallocate memfd_create eventfd splice".split(),
    select: "epoll EPOLLIN EPOLLOUT EPOLLERR EPOLLHUP".split(),
    signal: "pidfd_send_signal sigtimedwait sigwaitinfo SIGPWR SIGSTKFLT SIGPOLL".split(),
    fcntl: [name for name in dir(fcntl) if "OFD" in name],
}
POSIX = {
    os: '''fork forkpty register_at_fork uname getuid geteuid getgid getegid getppid getpgrp getpgid setsid setpgid killpg
        waitid wait wait3 wait4 WNOHANG P_PID pread pwrite posix_fadvise lockf fchown chown mkfifo nice sysconf statvfs
        fstatvfs ttyname openpty tcgetpgrp tcsetpgrp getloadavg pipe2 O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_SYNC
        confstr ctermid getpriority initgroups lchown mknod setuid sync chroot EX_USAGE'''.split(),
    select: ["poll", "POLLIN"],
    signal: '''SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGWINCH SIGCHLD SIGSTOP SIGCONT SIGTSTP SIGTTOU SIGTTIN SIGKILL
        SIGPIPE pause alarm setitimer pthread_sigmask pthread_kill sigwait siginterrupt'''.split(),
    socket: ["AF_UNIX"],
}

def take_away(*sets):
    for names in sets:
        for module, gone in names.items():
            for name in gone:
                if hasattr(module, name):
                    delattr(module, name)

if hasattr(os, "process_cpu_count"):
    os.process_cpu_count = os.cpu_count  # what Python 3.13 does on a system without sched_getaffinity
if KIND == "mac":
    sys.platform = "darwin"
    take_away(LINUX)
else:
    sys.platform = "other"
    take_away(LINUX, POSIX)
    for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog", "readline"):
        sys.modules[name] = None

real = ctypes.CDLL
def no_library(name=None, *args, **options):
    if name is None:
        raise OSError("there is no library of the process")
    return real(name, *args, **options)
ctypes.CDLL = no_library
plain_open = open
def no_proc(path, *args, **options):
    if str(path).startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", path)
    return plain_open(path, *args, **options)
import builtins
builtins.open = no_proc
"""
LOCKS = """
import asyncio
import vez
with vez.connect("memory:") as client:
    with client.lock("nightly", timeout=1) as grant:
        assert client.lock("nightly").try_acquire() is None
        assert client.inspect("nightly").holders[0].token == grant.token
    with client.lock("nightly", shared=True), client.semaphore("pool", 2), client.lock_all(["a", "b"]):
        pass
    try:
        with client.election("scheduler") as leadership:
            assert next(client.election("scheduler").observe()).term == leadership.term
            assert client.break_lock("scheduler", "for the test", "election").by_host
            assert leadership.lost
    except vez.OwnershipLost:
        pass
    else:
        raise AssertionError("nobody told of the loss")

async def another(client):
    async with client.lock("nightly", timeout=5):
        pass

async def main():
    async with vez.aio.connect("memory:async") as client:
        async with client.lock("nightly", timeout=1), client.semaphore("pool", 2):
            waiting = asyncio.create_task(another(client))
            await asyncio.sleep(0.01)
        await waiting
        async with client.election("scheduler") as leadership:
            assert leadership.term

asyncio.run(main())
from vez.locks.fence import MemoryGuard, RedisGuard, SqlGuard
import vez.testing, vez.testing.conformance, vez.testing.plugin, vez.testing.torture, vez.locks.supervise.child, vez.cli.demo.tour
print("held")
"""


def without(kind: str, program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program where the names of a kind are missing."""
    text = f"KIND = {kind!r}\n{TAKE_AWAY}\n{program}"
    return without_vez().run(["-c", text], cwd=folder, env={**os.environ, **environment})


def command(*arguments: str) -> str:
    return f"from vez.cli import main\nmain({list(arguments)!r})"


KINDS = pytest.mark.parametrize("kind", ["mac", "no posix"])


@KINDS
def test_locks_and_elections_in_memory(kind: str, tmp_path: Path) -> None:
    done = without(kind, LOCKS, tmp_path)
    assert (done.stdout, done.stderr) == ("held\n", "")


@KINDS
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["sim", "bully", "-n", "4", "--crash", "4@20", "--diagram", "text"], 0, "leader"),
        (["sim", "token-ring", "--runs", "3", "--jobs", "1"], 0, "holds in 3 runs"),
        (["sim", "lamport", "-n", "3", "-o", "run.html"], 0, "run.html"),
        (["check", "maekawa", "-n", "3"], 0, "deadlock_freedom"),
        (["check", "threads:counter"], 1, "broken"),
        (["algorithms"], 0, "ricart-agrawala"),
        (["quorum", "-n", "8", "-p", "3/3600", "--want", "1e-9", "-o", "chart.svg"], 0, "chart.svg"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_simulator_checker_and_pictures(kind: str, arguments: list[str], code: int, words: str, tmp_path: Path) -> None:
    done = without(kind, command(*arguments), tmp_path)
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@KINDS
def test_help_of_every_command(kind: str, tmp_path: Path) -> None:
    names = [name for group in COMMANDS.values() for name in group]
    program = f"""
from vez.cli.app import run
for name in {names!r}:
    assert run([name, "--help"]) == 0, name
assert run(["--help"]) == 0
"""
    done = without(kind, program, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f" {name} " in done.stdout for name in names)


@KINDS
@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["status"], "vez: file: needs 64-bit Linux; this is "),
        (["elect", "e", "--for", "0"], "vez: file: needs 64-bit Linux; this is "),
        (["torture"], "vez: torture needs 64-bit Linux; this is "),
        (["run", "nightly", "--", "true"], "vez: `vez run` needs 64-bit Linux; this is "),
        (["run", "nightly", "--url", "memory:", "--", "true"], "vez: `vez run` needs 64-bit Linux; this is "),
    ],
    ids=["status", "elect", "torture", "run", "run in memory"],
)
def test_what_needs_linux_refuses_in_one_line_and_says_what_to_use(
    kind: str, arguments: list[str], start: str, tmp_path: Path
) -> None:
    done = without(kind, command(*arguments), tmp_path, VEZ_DIR=str(tmp_path / "turns"))
    line, hint, *more = done.stderr.splitlines()
    assert done.returncode == 69, done.stderr
    assert line.startswith(start)
    assert "os.pidfd_open" in line
    assert "memory:" in hint
    assert more == []
    assert not (tmp_path / "turns").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["node", "--id", "1", "--group", "1,2", "--algorithm", "bully"], "this system has no Unix sockets"),
        (["cluster", "--algorithm", "bully"], "clusters need POSIX signals"),
    ],
    ids=["node", "cluster"],
)
def test_nodes_say_what_they_need(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = without("no posix", command(*arguments), tmp_path, XDG_RUNTIME_DIR=str(tmp_path))
    assert (done.returncode, done.stderr.splitlines()[0]) == (69, f"vez: {words}")
    assert len(done.stderr.splitlines()) == 2


@KINDS
def test_the_api_refuses_files_too(kind: str, tmp_path: Path) -> None:
    program = """
import vez
from vez.locks.fence import FileGuard
for make in (lambda: vez.connect("file:///somewhere"), lambda: vez.lock("x")):
    try:
        make()
    except vez.EngineUnavailable as error:
        print(error.message)
try:
    FileGuard("data").write(b"x", 1)
except vez.EngineUnavailable as error:
    print(error.message)
"""
    lines = without(kind, program, tmp_path, VEZ_URL="").stdout.splitlines()
    assert len(lines) == (2 if kind == "mac" else 3)  # flock(2) is all that a guarded file needs
    assert all("needs" in line for line in lines)


def test_the_names_are_really_gone(tmp_path: Path) -> None:
    program = """
import os
gone = [name for name in ("pidfd_open", "fork", "uname", "register_at_fork") if not hasattr(os, name)]
try:
    import fcntl
except ImportError:
    gone.append("fcntl")
print(*gone)
"""
    assert without("no posix", program, tmp_path).stdout.split() == [
        "pidfd_open",
        "fork",
        "uname",
        "register_at_fork",
        "fcntl",
    ]
    assert without("mac", program, tmp_path).stdout.split() == ["pidfd_open"]
