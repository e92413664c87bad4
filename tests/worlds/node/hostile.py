"""Hostile peers of a real node: strangers, members that break the protocol, and a fuzzer that changes recorded frames.

The seeds of the fuzzer are the files in `corpus/`: frames as they are on the wire, one of each kind.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from random import Random

import msgspec

from tests.worlds.node.processes import PATIENCE
from tests.worlds.node.protocols import Careless
from vez.core.topology import Complete
from vez.worlds.node.frames import PREFIX, Data, frame
from vez.worlds.node.handshake import NONCE_BYTES, Dialling, Welcome
from vez.worlds.node.identity import Identity, make_identity

CORPUS = Path(__file__).parent / "corpus"
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0xC1, 0xDD, 0xDF, 0xC6, 0xCF)
"""Bytes that mean something to msgpack: lengths, signs, unused codes, large containers."""


def corpus() -> list[bytes]:
    """The seeds, in a fixed order."""
    return [path.read_bytes() for path in sorted(CORPUS.glob("*.bin"))]


def mutated(chance: Random, seeds: list[bytes]) -> bytes:
    """Some bytes that are almost a frame, or several."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(data) + 1)
        kind = chance.randrange(7)
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 1 and data:
            data[place % len(data)] = chance.choice(_NUMBERS)
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            data[place:place] = chance.randbytes(chance.randint(1, 40))
        elif kind == 4:
            data += chance.choice(seeds)
        elif kind == 5:
            del data[place : place + chance.randint(1, 8)]
        else:  # the same content with a length that is right, so that it is decoded
            content = bytes(data[PREFIX:])
            data = bytearray(len(content).to_bytes(PREFIX, "big") + content)
    return chance.choice((b"", chance.choice(seeds))) + bytes(data)


class Attacker:
    """Talks to one node; as a stranger, or as member 3 of its group after a proper handshake."""

    def __init__(self, path: Path, group: str, algorithm: str, key: bytes | None, to: int = 2) -> None:
        self._path = str(path)
        self._key = key
        self._to = to
        self._identity: Identity = make_identity(group, algorithm, Complete((1, 2, 3)), Careless())

    def connect(self) -> socket.socket:
        """A connection of a stranger. Waits while the queue of the listener is full."""
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                made.connect(self._path)
            except BlockingIOError:
                assert time.monotonic() < deadline, "the node accepts no connections"
                time.sleep(0.01)  # the queue of the listener is full; nothing tells when it is not
            else:
                return made

    def befriend(self) -> socket.socket:
        """A connection after a proper handshake, of a new incarnation."""
        made = self.connect()
        shake = Dialling(self._identity, 3, self._to, os.urandom(8).hex(), self._key, os.urandom(NONCE_BYTES))
        made.sendall(frame(shake.hello(_frame(made))))
        assert isinstance(shake.welcome(_frame(made)), Welcome)
        return made

    def hello(self) -> bytes:
        """A hello that answers no challenge."""
        shake = Dialling(self._identity, 3, self._to, "0" * 16, None, b"n" * NONCE_BYTES)
        return frame(shake._hello)


def _frame(connection: socket.socket) -> bytes:
    return _exactly(connection, int.from_bytes(_exactly(connection, PREFIX), "big"))


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        assert more, "the node closed the connection"
        data += more
    return data


def throw(connection: socket.socket, data: bytes) -> None:
    """Send something, say that no more comes, and wait until the node has closed the connection."""
    with connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        except ConnectionError:
            pass


def is_gone(connection: socket.socket) -> bool:
    """True if the other side has closed; never waits."""
    connection.setblocking(False)
    try:
        while data := connection.recv(1 << 16):
            del data
        return True
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    finally:
        connection.settimeout(PATIENCE)


def resident_kib(process: int) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def descriptors(process: int) -> int:
    """Number of files and sockets that a process has open."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def flood(count: int) -> bytes:
    """An endless stream of valid messages."""
    return b"".join(
        frame(Data(number, number, "Count", msgspec.Raw(b"\x81\xa5value\x00"))) for number in range(1, count + 1)
    )
