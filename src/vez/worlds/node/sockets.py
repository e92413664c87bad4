"""Sockets: listening and dialling, on Unix sockets, on loopback, or with TLS and certificates on both sides."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from vez.errors import EngineUnavailable, Misuse
from vez.worlds.node.group import Address, Group, Tls, Unix

P = TypeVar("P", bound=asyncio.BaseProtocol)


class Contexts:
    """The TLS contexts of a node, for new connections; None without certificates. They are made again when the files
    have changed, because a node may run for longer than its certificate is valid."""

    def __init__(self, group: Group, me: int) -> None:
        self._group = group
        self._files = None if group.tls is None else group.tls.of(me)
        self._seen = None if self._files is None else _seen(self._files)  # first: what is replaced now is read again
        self._made = None if self._files is None else _contexts(self._files)

    @property
    def server(self) -> ssl.SSLContext | None:
        """For connections that others open."""
        made = self._refresh()
        return made and made[0]

    @property
    def client(self) -> ssl.SSLContext | None:
        """For connections that this node opens."""
        made = self._refresh()
        return made and made[1]

    def name(self, node: int) -> str | None:
        """The name that the certificate of a node must have; None without TLS."""
        return None if self._files is None else certificate_name(node, self._group.name)

    def _refresh(self) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
        """The contexts of the present files. While files are being replaced and do not fit each other, those from
        before."""
        if self._files is not None and (seen := _seen(self._files)) != self._seen:
            with contextlib.suppress(Misuse):
                self._made, self._seen = _contexts(self._files), seen
        return self._made


def certificate_name(node: int, group: str) -> str:
    """The name in the certificate of a node: `3.demo.vez`. A negative identifier is written with an m, because a label
    cannot begin with a hyphen."""
    return f"{f'm{-node}' if node < 0 else node}.{group}.vez"


def has_name(transport: asyncio.BaseTransport, name: str) -> bool:
    """True if the certificate of the other side has this name."""
    certificate = transport.get_extra_info("peercert") or {}
    return ("DNS", name) in certificate.get("subjectAltName", ())


def _seen(files: Tls) -> list[tuple[int, int, int]] | None:
    """What changes when a file is replaced or written; None if one cannot be read."""
    try:
        facts = [os.stat(path) for path in (files.authority, files.certificate, files.key)]
    except OSError:
        return None
    return [(one.st_mtime_ns, one.st_ino, one.st_size) for one in facts]


def _contexts(files: Tls) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return _context(ssl.PROTOCOL_TLS_SERVER, files), _context(ssl.PROTOCOL_TLS_CLIENT, files)


def _context(side: ssl._SSLMethod, files: Tls) -> ssl.SSLContext:
    """A TLS context in which both sides show a certificate of the authority, and accept no other."""
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_verify_locations(files.authority)
        context.load_cert_chain(files.certificate, files.key, password="")  # None would ask at the terminal
    except (OSError, ssl.SSLError) as error:
        raise Misuse(
            f"cannot use the certificates {files.authority} and {files.certificate}: {error}",
            hint="`vez certs` makes them",
        ) from error
    return context


def private_directory(path: Path) -> None:
    """Make a directory that only its owner may enter, or check that it is one."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise Misuse(f"cannot use the directory {path}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode):
        raise Misuse(f"{path} is not a directory", hint="a symbolic link is not followed")
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    if not mine or found.st_mode & 0o077:
        shared = not mine or found.st_mode & stat.S_ISVTX
        hint = "use a directory that only you may enter" if shared else f"chmod 700 {path}"
        raise Misuse(f"others may enter the directory {path}", hint=hint)


def refuse_without_unix_sockets(group: Group) -> None:
    """Refuse a group that this system cannot join."""
    if not hasattr(socket, "AF_UNIX") and any(isinstance(address, Unix) for address in group.addresses.values()):
        raise EngineUnavailable("this system has no Unix sockets", hint="use 127.0.0.1:PORT and a key file")


class Listener:
    """A server, and its file if it is a Unix socket."""

    def __init__(self, server: asyncio.Server, path: Path | None = None) -> None:
        self._server = server
        self._path = path and path.absolute()
        self._inode = path and path.lstat().st_ino

    @property
    def sockets(self) -> list[int]:
        """The file descriptors of the listening sockets."""
        return [listener.fileno() for listener in self._server.sockets]

    def stop(self) -> None:
        """Stop accepting connections, and remove the file.

        A file that another process has put in its place is not removed. The server is closed in the next turn of the
        loop: asyncio cannot pass on a connection whose server is closed already, and would leave a connection open that
        was accepted in this turn.
        """
        path, self._path = self._path, None
        with contextlib.suppress(OSError):
            if path is not None and path.lstat().st_ino == self._inode:
                path.unlink()
        loop = asyncio.get_running_loop()
        for descriptor in self.sockets:
            with contextlib.suppress(NotImplementedError):  # a loop without readers
                loop.remove_reader(descriptor)
        loop.call_soon(self._server.close)


async def listen(address: Address, factory: Callable[[], asyncio.BaseProtocol]) -> Listener:
    """Accept connections."""
    loop = asyncio.get_running_loop()
    try:
        if not isinstance(address, Unix):
            return Listener(await loop.create_server(factory, address.host, address.port))
        path = Path(address.path)
        private_directory(path.parent)
        await _remove_dead(path)
        return Listener(await loop.create_unix_server(factory, address.path), path)
    except OSError as error:
        raise EngineUnavailable(f"cannot listen at {address}: {error.strerror or error}") from error


async def _remove_dead(path: Path) -> None:
    """Remove the socket of a node that was killed. Refuses if a process listens there."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return
        _, writer = await asyncio.open_unix_connection(str(path))
    except FileNotFoundError:
        return
    except OSError:  # nobody listens
        path.unlink(missing_ok=True)
        return
    writer.close()
    raise Misuse(f"a node listens at {path} already", hint="stop it first, or use another --name")


async def dial(address: Address, factory: Callable[[], P], tls: ssl.SSLContext | None, name: str | None) -> P:
    """Open a connection. Raises OSError.

    If it is cancelled at the end of the TLS handshake, asyncio would wait for the other side to close. That could take
    longer than the node lives, so the connection is aborted.
    """
    loop = asyncio.get_running_loop()
    made: list[P] = []

    def make() -> P:
        made.append(factory())
        return made[0]

    try:
        if isinstance(address, Unix):
            return (await loop.create_unix_connection(make, address.path))[1]
        host, port = address
        return (await loop.create_connection(make, host, port, ssl=tls, server_hostname=name))[1]
    except BaseException:
        transport = getattr(made[0], "transport", None) if made else None
        if transport is not None:
            transport.abort()
        raise
