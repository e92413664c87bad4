"""Certificates that are wrong or change: threads and tasks learn whose fault it is, and renewed files are read again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.locks.etcd.conftest import started
from tests.locks.etcd.faulty import port_of
from tests.locks.etcd.test_reasons import reasons
from tests.proxy import Proxy
from vez import aio
from vez.errors import OwnershipLost
from vez.locks.engines.etcd.address import Endpoint, parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.network.wires import NotConnected
from vez.testing.servers import EtcdServer

DAY = timedelta(days=1)
PAST, FUTURE = (-2 * DAY, -DAY), (DAY, 2 * DAY)
HOST = "127.0.0.1"


class Files:
    """A folder with an authority and certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.other = trustme.CA(), trustme.CA()
        self.authority.cert_pem.write_to_path(self.path("ca.pem"))

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def issue(
        self,
        name: str,
        host: str = HOST,
        *,
        valid: tuple[timedelta, timedelta] = (-DAY, DAY),
        authority: trustme.CA | None = None,
    ) -> None:
        """Write a certificate and its key, each replacing the file of that name in one step."""
        now = datetime.now(UTC)
        times: dict[str, Any] = {"not_before": now + valid[0], "not_after": now + valid[1]}
        made = (authority or self.authority).issue_cert(host, **times)
        for ending, blob in (("key", made.private_key_pem), ("pem", made.cert_chain_pems[0])):
            blob.write_to_path(self.path("new"))
            os.replace(self.path("new"), self.path(f"{name}.{ending}"))

    def options(self, name: str) -> str:
        """The part of a URL that shows this certificate."""
        return f"cert={self.path(name)}.pem&key={self.path(name)}.key"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    made = Files(tmp_path_factory.mktemp("certificates"))
    made.issue("server")
    made.issue("client")
    return made


@pytest.fixture(scope="module")
def secure(files: Files) -> Iterator[EtcdServer]:
    """etcd with TLS. It reads its certificate again for each connection."""
    yield from started("system", "--cert-file", files.path("server.pem"), "--key-file", files.path("server.key"))


@pytest.mark.parametrize(
    ("made", "words", "advice"),
    [
        ({"valid": PAST}, "certificate has expired", "renew it"),
        ({"valid": FUTURE}, "certificate is not yet valid", "clock"),
        ({"host": "db.example.org"}, "not valid for '127.0.0.1'", "name the host as the certificate does"),
        ({"authority": True}, "unable to get local issuer", "?ca=FILE"),
    ],
    ids=["expired", "early", "host", "authority"],
)
def test_a_certificate_of_the_server_that_is_refused(
    secure: EtcdServer, files: Files, made: dict[str, Any], words: str, advice: str
) -> None:
    files.issue("server", **{**made, "authority": files.other if made.get("authority") else files.authority})
    thread, task = reasons(f"etcd://{secure.endpoint}?ca={files.path('ca.pem')}")
    assert thread == task
    assert f"{secure.endpoint}: the certificate of the server is refused: " in thread
    assert words in thread
    assert advice in thread
    assert "_ssl.c" not in thread


@contextlib.contextmanager
def tls_server(files: Files, highest: ssl.TLSVersion) -> Iterator[tuple[int, SimpleQueue[Any]]]:
    """A server that wants a certificate of each client. Yields its port, and what it saw: certificates and errors."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version, context.verify_mode = highest, ssl.CERT_REQUIRED
    context.load_cert_chain(files.path("good.pem"), files.path("good.key"))
    context.load_verify_locations(files.path("ca.pem"))
    seen: SimpleQueue[Any] = SimpleQueue()
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    one = server.accept()[0]
                    one.settimeout(10)
                    with context.wrap_socket(one, server_side=True, do_handshake_on_connect=False) as secured:
                        try:
                            secured.do_handshake()
                            seen.put(secured.getpeercert())
                        except OSError as error:
                            seen.put(error)
                        with contextlib.suppress(OSError):  # unread bytes would make the end a reset, without a reason
                            while socket.socket.recv(secured, 5000):
                                pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], seen
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.mark.parametrize("highest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("shown", ["", "foreign", "expired"])
def test_a_certificate_of_the_client_that_is_refused(files: Files, highest: ssl.TLSVersion, shown: str) -> None:
    """TLS 1.2 tells it during the handshake, TLS 1.3 after it."""
    files.issue("good")
    files.issue("foreign", authority=files.other)
    files.issue("expired", valid=PAST)
    mine = f"&{files.options(shown)}" if shown else ""
    with tls_server(files, highest) as (port, _):
        thread, task = reasons(f"etcd://{HOST}:{port}?ca={files.path('ca.pem')}{mine}")
    assert thread == task
    assert f"{HOST}:{port}: the server refuses " in thread
    assert ("?cert=" in thread, "of cert=" in thread) == (not shown, bool(shown))
    assert "_ssl.c" not in thread


@contextlib.contextmanager
def connected(url: str, endpoint: Endpoint) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """Functions that open one connection and close it: of one transport for threads, and of one for tasks."""
    threads, tasks, loop = EtcdTransport(parse(url)), EtcdAsyncTransport(parse(url)), asyncio.new_event_loop()

    def in_a_thread() -> None:
        threads.connect(endpoint, 10.0).close()

    async def one() -> None:
        await (await tasks.connect(endpoint, 10.0)).close()

    def in_a_task() -> None:
        loop.run_until_complete(one())

    with contextlib.closing(loop):
        yield in_a_thread, in_a_task


def test_renewed_files_are_read_again(files: Files) -> None:
    """The certificates of services are often valid for a day; a lock may be held for longer."""
    files.issue("good")
    files.issue("renewed")
    with tls_server(files, ssl.TLSVersion.TLSv1_3) as (port, seen):
        url = f"etcd://{HOST}:{port}?ca={files.path('ca.pem')}&{files.options('renewed')}"

        def shown() -> set[str]:
            found = []
            for connect in ways:
                connect()
                found.append(seen.get(timeout=10)["serialNumber"])
            return set(found)

        with connected(url, Endpoint(HOST, port)) as ways:
            (first,) = shown()
            assert shown() == {first}
            files.issue("renewed")
            (second,) = shown()
            assert second != first
            Path(files.path("renewed.pem")).write_text("half a certif")
            assert shown() == {second}, "a file that is being written does not count yet"
            files.issue("renewed")
            (third,) = shown()
            assert third not in (first, second)


def test_a_renewed_authority_is_read_again(files: Files) -> None:
    files.issue("good")
    path = Path(files.path("trusted.pem"))
    files.other.cert_pem.write_to_path(path)
    with tls_server(files, ssl.TLSVersion.TLSv1_3) as (port, seen):
        url = f"etcd://{HOST}:{port}?ca={path}&{files.options('client')}"
        with connected(url, Endpoint(HOST, port)) as ways:
            for connect in ways:
                with pytest.raises(NotConnected, match="verify failed"):
                    connect()
                seen.get(timeout=10)
            files.authority.cert_pem.write_to_path(path, append=True)
            for connect in ways:
                connect()
                assert "serialNumber" in seen.get(timeout=10)


def on_a_terminal(*words: str) -> str:
    """What Python shows on a terminal of its own, until it ends or asks for a passphrase."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, *words])  # noqa: S606
    seen = b""
    try:
        with contextlib.suppress(OSError):  # the terminal has no other side any more
            while b"pass phrase" not in seen and (data := os.read(terminal, 5000)):
                seen += data
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return seen.decode()


@pytest.mark.parametrize("engine", ["etcd", "peers"])
def test_a_key_with_a_passphrase_is_refused_and_not_asked_for(files: Files, engine: str) -> None:
    """OpenSSL would ask at the terminal, inside the connecting program."""
    files.issue("locked")
    key = load_pem_private_key(Path(files.path("locked.key")).read_bytes(), None)
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))
    Path(files.path("locked.key")).write_bytes(locked)
    if engine == "etcd":
        seen = on_a_terminal("-m", "vez", "status", "--url", f"etcd://{HOST}:9?{files.options('locked')}")
        assert "the key without a passphrase" in seen
    else:
        paths = [files.path(name) for name in ("ca.pem", "locked.pem", "locked.key")]
        code = "from vez.worlds.node.group import *; from vez.worlds.node.sockets import *; Contexts(Group(name='x', "
        seen = on_a_terminal("-c", f"{code} addresses={{1: Tcp('{HOST}', 9)}}, tls=Tls(*{paths})), 1)")
        assert "cannot use the certificates" in seen
    assert "pass phrase" not in seen


def test_a_loss_names_the_failure_of_the_renewals(secure: EtcdServer, files: Files) -> None:
    """A holder whose server comes back with a certificate of somebody else learns that this is the reason."""
    files.issue("server")

    async def held_until_lost(url: str) -> None:
        async with aio.connect(url) as client, client.lock("x"):
            files.issue("server", authority=files.other)
            route.sever()
            await asyncio.get_running_loop().create_future()  # until the loss cancels it

    with Proxy() as proxy:
        route = proxy.route((HOST, secure.port))
        with pytest.raises(OwnershipLost, match="its lease could not be renewed in time: ") as caught:
            asyncio.run(held_until_lost(f"etcd://{HOST}:{port_of(route)}?ca={files.path('ca.pem')}&lease=1"))
    assert "the certificate of the server is refused: unable to get local issuer certificate" in str(caught.value)
