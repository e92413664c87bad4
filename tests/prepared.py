"""A prepared Python: a process that has vez and its libraries imported, and forks a child for each command.

A new interpreter needs a quarter of a second and more before `vez` does anything, and the tests run some thousand
commands. A forked child starts in a few milliseconds. Otherwise it is a separate process: its environment, working
directory, standard streams, exit code and signals are those of a command that a shell started. Tests of the start
itself (imports, encodings, hash seeds, interpreters) start a new interpreter.

`python -m tests.prepared MODULE ...` is the process that forks. It reads one request per line and writes one answer per
line.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    "asyncio", "click", "concurrent.futures.process", "ctypes", "logging", "msgspec", "multiprocessing.util", "numpy",
    "pytest", "rich.console", "rich.progress", "rich.table", "ssl", "urllib.request",
)  # fmt: skip
"""Modules of other packages that vez imports."""
VEZ = (
    "vez.cli.app", "vez.cli.sim", "vez.cli.check", "vez.cli.verify", "vez.catalogue.load", "vez.catalogue.zoo",
    "vez.locks.models", "vez.locks.models.recipes", "vez.worlds.check", "vez.worlds.sim", "vez.judge.validate",
    "vez.draw", "vez.threads", "vez.aio",
)  # fmt: skip
"""Modules of vez that most commands import. Commands import the others themselves."""


class Prepared:
    """The client of the process that forks."""

    processor = 0.0
    """Seconds of CPU time that all commands have used."""

    def __init__(self, *modules: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.prepared", *modules],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # a process with threads had better not fork
        )  # fmt: skip
        atexit.register(self.close)

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        text: str = "",
        reader: Sequence[str] = (),
        timeout: float = 100,
    ) -> subprocess.CompletedProcess[str]:
        """Run `-m vez ...`, `-c CODE` or `FILE ...` as Python would; `text` is its standard input.

        With a reader its standard output is a pipe to that command, as in a shell, and is not returned.
        """
        assert self.process.stdin
        assert self.process.stdout
        with tempfile.TemporaryDirectory(prefix="vez-prepared-") as folder:
            places = {name: f"{folder}/{name}" for name in ("stdin", "stdout", "stderr")}
            Path(places["stdin"]).write_text(text, encoding="utf-8")
            environment = dict(os.environ if env is None else env)
            request = {"arguments": list(map(str, arguments)), "cwd": str(cwd or Path.cwd()), "env": environment}
            request["reader"] = list(reader)
            print(json.dumps(request | places | {"timeout": timeout}), file=self.process.stdin, flush=True)
            try:
                code, seconds = json.loads(self.process.stdout.readline())
            except BaseException:  # a late answer would be taken for the answer to the next command
                self.process.kill()
                prepared.cache_clear()
                without_vez.cache_clear()
                raise
            Prepared.processor += seconds
            out, err = (Path(places[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        if code is None:
            raise subprocess.TimeoutExpired(list(arguments), timeout, out, err)
        return subprocess.CompletedProcess(list(arguments), code, out, err)

    def close(self) -> None:
        """End the process that forks: it ends when its input is closed."""
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self.process.wait(10)


@cache
def prepared() -> Prepared:
    """The prepared Python of this process, started when it is first used."""
    return Prepared(*LIBRARIES, *VEZ)


@cache
def without_vez() -> Prepared:
    """A prepared Python that has not imported vez, for tests of the time before the import."""
    return Prepared(*LIBRARIES)


def vez(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of vez as a process of its own."""
    return prepared().run(["-m", "vez", *arguments], **options)


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program as a process of its own: `-c CODE` or the name of a file, and its arguments."""
    return prepared().run(arguments, **options)


def _serve() -> int | None:
    """Fork a child for each request. Returns None in the parent at the end, and the exit code in a child."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            return _become(request)
        print(json.dumps(_ended(child, request["timeout"])), flush=True)
    return None


def _ended(child: int, timeout: float) -> tuple[int | None, float]:
    """Wait for a child. Returns its exit code (negative for a signal, None if it was killed with its group after the
    timeout) and its CPU seconds."""
    handle = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([handle], [], [], timeout)
    finally:
        os.close(handle)
    if not ready:
        os.killpg(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status) if ready else None, used.ru_utime + used.ru_stime


def _become(request: dict[str, Any]) -> int:
    """Become the requested command: set streams, folder, environment and arguments, and run it."""
    os.setpgid(0, 0)
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_WRONLY), (2, "stderr", os.O_WRONLY)):
        opened = os.open(request[name], mode | (os.O_CREAT if number else 0), 0o600)
        os.dup2(opened, number)
        os.close(opened)
    if request["reader"]:
        read, write = os.pipe()
        subprocess.Popen(request["reader"], stdin=read)  # it ends when its input is closed
        os.dup2(write, 1)
        os.close(read)
        os.close(write)
    unbuffered = bool(request["env"].get("PYTHONUNBUFFERED"))
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            open(number, mode, closefd=False, buffering=0 if unbuffered and number else -1),  # noqa: SIM115
            encoding="utf-8",
            line_buffering=number == 2,
            write_through=unbuffered and bool(number),
        )
        for number, mode in ((0, "rb"), (1, "wb"), (2, "wb"))
    )
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    first, *rest = request["arguments"]
    try:
        if first == "-m":
            assert rest[0] == "vez", rest
            sys.argv = ["vez", *rest[1:]]
            from vez.cli import main

            main()
        elif first == "-c":
            sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102  # as Python's -c does
        else:
            sys.argv, sys.path[0] = [first, *rest], str(Path(first).resolve().parent)
            runpy.run_path(first, run_name="__main__")
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
            return 1
        return ending.code or 0
    return 0


if __name__ == "__main__":
    for _module in sys.argv[1:]:
        __import__(_module)
    sys.exit(_serve())
