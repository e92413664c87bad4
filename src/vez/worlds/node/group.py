"""Group: the members of a run, their addresses, and the key or certificates with which they trust each other.

Written as a file (TOML) or as a list on the command line:

    name = "demo"                     1,2,3                       Unix sockets in a private directory
    key_file = "demo.key"             1=127.0.0.1:7001,2=…        loopback, with a key
    [nodes]                           1=10.0.0.1:7001,2=…         several hosts, with TLS (in a file)
    1 = "127.0.0.1:7001"
    [tls]
    authority = "ca.pem"
    certificate = "node-{id}.pem"
    key = "node-{id}.key"

The order of the nodes is the order of the ring. Paths are relative to the file.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from vez.errors import BadData, MissingFile, Misuse

LARGEST = 1 << 20
KEY_BYTES = 32
LONGEST_PATH = 100
"""The largest number of bytes of the path of a Unix socket; the kernel allows 107."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_ID = re.compile(r"-?[0-9]{1,18}")


class Unix(NamedTuple):
    """A Unix socket."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


class Tcp(NamedTuple):
    """A TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """True if only this host can connect. A name counts as another host, because its address may change."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


Address = Unix | Tcp


class Tls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files of certificates. `{id}` stands for the identifier of the node."""

    authority: str
    certificate: str
    key: str

    def of(self, node: int) -> Tls:
        """The files of one node."""
        return Tls(self.authority, self.certificate.replace("{id}", str(node)), self.key.replace("{id}", str(node)))


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The members of a run, in the order of the ring."""

    name: str
    addresses: dict[int, Address]
    key: bytes | None = None
    tls: Tls | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """The identifiers, in the order of the ring."""
        return tuple(self.addresses)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: dict[str, str]
    name: str = "vez"
    key_file: str | None = None
    tls: Tls | None = None


def load_group(path: Path) -> Group:
    """Read a group from a file."""
    raw = _read(path, LARGEST)
    try:
        file = msgspec.convert(tomllib.loads(raw.decode()), _File)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadData(f"{path} is not TOML: {error}") from error
    except msgspec.ValidationError as error:
        raise BadData(f"{path}: {error}", hint='a group has [nodes] with lines like 1 = "127.0.0.1:7001"') from error
    folder = path.parent
    tls = file.tls and Tls(*(str(folder / name) for name in (file.tls.authority, file.tls.certificate, file.tls.key)))
    addresses = _addresses((node, _address(text, folder)) for node, text in file.nodes.items())
    key = None if file.key_file is None else read_key(folder / file.key_file)
    return checked(Group(name=file.name, addresses=addresses, key=key, tls=tls))


def listed_group(
    text: str, name: str, directory: Path, key_file: Path | None = None, tls: Tls | None = None, *,
    read: Callable[[Path], bytes] | None = None,
) -> Group:  # fmt: skip
    """A group from a list: identifiers, or identifiers with addresses. `read` reads the key; by default `read_key`."""
    parts = (part.strip().partition("=") for part in text.split(","))
    addresses = _addresses(
        (node, _address(address, Path()) if equals else Unix(str(directory / f"{_id(node)}.sock")))
        for node, equals, address in parts
    )
    key = None if key_file is None else (read or read_key)(key_file)
    return checked(Group(name=name, addresses=addresses, key=key, tls=tls))


def _addresses(found: Iterable[tuple[str, Address]]) -> dict[int, Address]:
    """Addresses by identifier. Refuses an identifier that occurs twice, also in two notations: 1 and 01."""
    addresses: dict[int, Address] = {}
    for node, address in found:
        one = _id(node)
        if one in addresses:
            raise Misuse(f"group: node {one} is listed twice")
        addresses[one] = address
    return addresses


def check_name(name: str) -> None:
    """Refuse a name that cannot be part of the name in a certificate."""
    if not _NAME.fullmatch(name):
        raise Misuse(f"{name!r} cannot be the name of a group", hint="use up to 42 small letters, digits and hyphens")


def checked(group: Group) -> Group:
    """Refuse addresses at which strangers could connect, and two nodes at one address."""
    check_name(group.name)
    if not group.addresses:
        raise Misuse("a group needs at least one node")
    taken: dict[Address, int] = {}
    for node, address in group.addresses.items():
        if address in taken:
            raise Misuse(f"nodes {taken[address]} and {node} have the same address, {address}")
        taken[address] = node
        if isinstance(address, Unix):
            if len(address.path.encode()) > LONGEST_PATH:
                raise Misuse(f"{address} is longer than {LONGEST_PATH} bytes", hint="use a shorter directory")
        elif group.tls is None and not address.is_loopback:
            raise Misuse(
                f"node {node} at {address} can be reached from other hosts, and there are no certificates",
                hint="add [tls] to the group file; `vez certs` makes certificates",
            )
        elif group.tls is None and group.key is None:
            raise Misuse(
                f"node {node} at {address} can be reached by every user of this host, and there is no key",
                hint="give a key file (`vez node --help`), or use Unix sockets",
            )
    return group


def read_key(path: Path) -> bytes:
    """The key of a run. Other users must not have access to the file."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    if mode & 0o077:
        raise BadData(f"others may read or change the key file {path}", hint=f"chmod 600 {path}")
    key = _read(path, 4096)
    if len(key) < KEY_BYTES:
        raise BadData(
            f"the key in {path} has {len(key)} bytes, expected at least {KEY_BYTES}",
            hint=f"head -c {KEY_BYTES} /dev/urandom > {path}",
        )
    return key


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    if len(raw) > most:
        raise BadData(f"{path} is larger than {most} bytes")
    return raw


def _id(text: str) -> int:
    if not _ID.fullmatch(text):
        raise Misuse(f"group: {text[:40]!r} is not the identifier of a node", hint="use 1,2,3 or 1=127.0.0.1:7001,2=…")
    return int(text)


def _address(text: str, folder: Path) -> Address:
    if text.startswith("unix:") and "\0" not in text:
        return Unix(str(folder / text.removeprefix("unix:")))
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not _is_host(host) or not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise Misuse(f"group: {text[:60]!r} is not an address", hint="use 127.0.0.1:7001 or unix:PATH")
    return Tcp(host, int(port))


def _is_host(host: str) -> bool:
    """False for a name that cannot be looked up, because a part of it is empty or longer than 63 characters."""
    try:
        return bool(host.encode("idna")) and host.isprintable() and " " not in host
    except UnicodeError:
        return False
