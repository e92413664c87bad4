"""Real servers for tests and benchmarks, each on a free loopback port and in its own temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 30.0


class Missing(Exception):
    """The server is not installed; the text says what to do."""


def free_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def redis_server(cpus: set[int] | None = None) -> Iterator[int]:
    """A Redis without persistence; its port."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise Missing("redis-server is not installed; run tools/install-servers as root on Debian")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="vez-redis-") as folder:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with _running([*command, "--dir", folder], None, port, cpus):
            yield port


@contextlib.contextmanager
def postgres_server(cpus: set[int] | None = None) -> Iterator[str]:
    """A PostgreSQL with a fresh database; its connection string."""
    folder = _postgres_programs()
    user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="vez-postgres-") as home:
        if user is not None:
            shutil.chown(home, user)
        data = Path(home) / "data"
        subprocess.run(  # noqa: S603
            [str(folder / "initdb"), "-D", str(data), "-U", "vez", "-A", "trust", "--no-sync"],
            check=True, capture_output=True, user=user, cwd=home,
        )  # fmt: skip
        command = [str(folder / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", home]
        with _running([*command, "-c", "fsync=off"], user, port, cpus):
            _wait_for_database(folder / "pg_isready", port)
            url = f"host=127.0.0.1 port={port} user=vez dbname=postgres"
            yield url


def _postgres_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    if (program := shutil.which("initdb")) is not None:
        return Path(program).parent
    raise Missing("PostgreSQL is not installed; run tools/install-servers as root on Debian")


@contextlib.contextmanager
def _running(command: list[str], user: str | None, port: int, cpus: set[int] | None) -> Iterator[None]:
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=user, cwd="/", process_group=0
    )
    try:
        if cpus:
            os.sched_setaffinity(process.pid, cpus)
        _wait_for(process, port)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)


def _wait_for_database(program: Path, port: int) -> None:
    """Wait until the database answers; it listens earlier."""
    end = time.monotonic() + PATIENCE
    command = [str(program), "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(command, check=False).returncode != 0:  # noqa: S603
        if time.monotonic() > end:
            raise Missing(f"PostgreSQL did not get ready within {PATIENCE:g} s")
        time.sleep(0.05)


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None or time.monotonic() > end:
            raise Missing(f"{process.args!r} did not start, exit code {process.poll()}")
        time.sleep(0.02)
