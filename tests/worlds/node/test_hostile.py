"""A real node under attack: it stays up, goes on serving its other peers, and its memory stays bounded.

Node 1 sends node 2 a number every few milliseconds during the attack. The attacker of node 2 is a stranger, or has the
key and pretends to be node 3. Counts are asserted, never times.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proxy import Proxy
from tests.worlds.node.hostile import (
    Attacker,
    corpus,
    descriptors,
    flood,
    is_gone,
    mutated,
    resident_kib,
    throw,
)
from tests.worlds.node.processes import PATIENCE, Nodes, Running, nodes
from vez.testing import eventually
from vez.worlds.node.frames import frame
from vez.worlds.node.handshake import Challenge
from vez.worlds.node.limits import Limits

COUNTER = "tests/worlds/node/protocols.py:Careless"
"""Node 3 never listens, and channels that may lose messages keep none for it."""
FUZZED = 500
GENERATED = 500
SEED = int(os.environ.get("VEZ_FUZZ_SEED", "0")) or int(time.time())
MORE_KIB = 16_000
"""Growth of a node in KiB that is too much: as much as it may keep for one peer. 500 KiB were measured."""
MEMBERS = 3
FORGED = 987654321
"""The number in the messages of the corpus."""


class Besieged:
    """Node 1, which counts, and node 2, which is attacked."""

    def __init__(self, made: Nodes, folder: Path) -> None:
        key = folder / "key"
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        self._made = made
        self.folder = folder
        self._more = ("--key-file", str(key))
        self.two = made.start(2, *self._more)
        self.two.event("ready")
        self.one = self._start_one()
        self.expect_service()
        self.target = Attacker(folder / "vez-nodes" / "t" / "2.sock", "t", COUNTER, key.read_bytes())
        self.descriptors = descriptors(self.two.process.pid)
        self.memory = resident_kib(self.two.process.pid)

    def expect_service(self, count: int = 30) -> None:
        """Wait until node 2 has received this many more numbers of node 1, none of them twice and none left out."""
        self.one.do("status")
        told = self.one.until(lambda line: "status" in line)["status"]["sent"] // 2
        for number in range(told + 1, told + count + 1):
            self.two.until(lambda line, number=number: line.get("text") == f"heard {number}")  # type: ignore[misc]

    def restart_one(self) -> None:
        """The good peer comes back as a new incarnation, and has to shake hands again."""
        self.one.kill()
        self.one = self._start_one()

    def _start_one(self) -> Running:
        started = self._made.start(1, *self._more, state=False)
        started.until(lambda line: line.get("event") == "linked" and line["peer"] == 2)
        return started

    def expect_calm(self) -> None:
        """Wait until every connection of the attack is closed. Then the memory must be almost as before."""
        eventually(lambda: descriptors(self.two.process.pid) <= self.descriptors)
        grown = resident_kib(self.two.process.pid) - self.memory
        assert grown < MORE_KIB, f"node 2 has {grown} KiB more than before"
        assert self.two.process.poll() is None


@pytest.fixture(scope="module")
def besieged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Besieged]:
    """The same nodes for all attacks: each must leave them as they were."""
    folder = tmp_path_factory.mktemp("siege")
    with nodes(folder, COUNTER, MEMBERS) as made:
        yield Besieged(made, folder)


def test_a_thousand_malformed_inputs(besieged: Besieged) -> None:
    """Half of them changed from recorded frames by a fuzzer with a seed, half made by Hypothesis."""
    print(f"VEZ_FUZZ_SEED={SEED}")
    chance, seeds, target = Random(SEED), corpus(), besieged.target
    thrown = 0
    for _ in range(FUZZED):
        friend = chance.random() < 0.5
        throw(target.befriend() if friend else target.connect(), mutated(chance, seeds))
        thrown += 1

    @settings(max_examples=GENERATED, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=200), st.booleans(), st.booleans())
    def attack(noise: bytes, friend: bool, prefixed: bool) -> None:
        nonlocal thrown
        length = len(noise).to_bytes(4, "big") if prefixed else b""
        throw(target.befriend() if friend else target.connect(), length + noise)
        thrown += 1

    attack()
    assert thrown >= FUZZED + GENERATED
    besieged.expect_service()
    besieged.expect_calm()


def test_the_fuzzer_reaches_the_messages_and_most_of_what_it_makes_is_malformed(tmp_path: Path) -> None:
    """Shows that the test above is effective: some inputs are delivered as messages, most end the connection with a
    reason."""
    chance, seeds = Random(1), corpus()
    with nodes(tmp_path, COUNTER, MEMBERS) as made:
        besieged = Besieged(made, tmp_path)
        for _ in range(150):
            throw(besieged.target.befriend(), mutated(chance, seeds))
        besieged.one.kill()
        besieged.two.do("stop")
        _, log = besieged.two.close()
    assert any(line.get("text") == f"heard {FORGED}" for line in besieged.two.said), "a message of the attacker"
    reasons = {line.split(": ")[2] for line in log.splitlines() if "closed the connection of node 3" in line}
    assert {"malformed frame"} < reasons, reasons
    assert any(reason.startswith("a frame of") for reason in reasons)


def test_slow_strangers_are_few_and_keep_no_member_out(besieged: Besieged) -> None:
    """Each begins a hello and adds a byte now and then. A member that comes back meanwhile is let in."""
    most = Limits().strangers + MEMBERS
    slow = [besieged.target.connect() for _ in range(most)]
    for connection in slow:
        connection.sendall((60_000).to_bytes(4, "big") + b"\x97")
    extra = []
    for _ in range(3 * most):
        extra.append(besieged.target.connect())
        extra[-1].sendall((60_000).to_bytes(4, "big"))
    eventually(lambda: sum(map(is_gone, slow)) == most)
    eventually(lambda: descriptors(besieged.two.process.pid) <= besieged.descriptors + most)
    besieged.restart_one()
    for connection in extra:
        with contextlib.suppress(OSError):
            connection.sendall(b"\x00")
    besieged.expect_service()
    for connection in (*slow, *extra):
        connection.close()
    besieged.expect_calm()


def test_half_open_connections_are_found_and_closed(besieged: Besieged) -> None:
    """The other side is gone and could not say so: a network that drops everything, between them and the node."""
    folder = besieged.folder
    with Proxy() as proxy:
        route = proxy.route(str(folder / "vez-nodes" / "t" / "2.sock"), str(folder / "lost.sock"))
        lost = Attacker(folder / "lost.sock", "t", COUNTER, (folder / "key").read_bytes())
        friend, strangers = lost.befriend(), [lost.connect() for _ in range(20)]
        eventually(lambda: descriptors(besieged.two.process.pid) >= besieged.descriptors + 21)
        route.hold()
        for connection in (friend, *strangers):
            connection.close()
        besieged.expect_calm()  # the handshakes run out, and then the silence of the member
        besieged.expect_service()


def test_a_member_that_sends_as_fast_as_it_can(besieged: Besieged) -> None:
    """It floods until the good peer has been heard a hundred times more; then the memory is that of before."""
    data, over, sent = flood(20_000), threading.Event(), 0

    def attack() -> None:
        nonlocal sent
        while not over.is_set():
            with besieged.target.befriend() as connection, contextlib.suppress(OSError):
                connection.sendall(data)
                sent += len(data)

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        besieged.expect_service(100)
        eventually(lambda: sent >= 2 * len(data))
    finally:
        over.set()
        _drain(besieged.two, thread)
    besieged.expect_service()
    besieged.expect_calm()


def _drain(running: Running, thread: threading.Thread) -> None:
    """Read the output of a node until a thread has ended. Otherwise the node could not continue."""
    while thread.is_alive():
        running.do("status")
        running.until(lambda line: "status" in line)
    running.said.clear()


def test_a_member_that_never_reads_what_it_is_told(besieged: Besieged) -> None:
    """It asks for acknowledgements by many messages, and does not read them: they do not pile up."""
    connection = besieged.target.befriend()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    connection.sendall(flood(20_000))
    besieged.two.until(lambda line: line.get("text") == "heard 0")
    besieged.expect_service()
    connection.close()
    besieged.expect_calm()


def test_what_answers_the_dialler_may_lie_too(besieged: Besieged) -> None:
    """Node 2 dials node 3, where a fuzzer listens. Each hello of 3 makes it dial at once, so that the test need not
    wait."""
    chance, seeds = Random(SEED), corpus()
    print(f"VEZ_FUZZ_SEED={SEED}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(besieged.folder / "vez-nodes" / "t" / "3.sock"))
        listener.listen()
        listener.settimeout(PATIENCE)
        for _ in range(40):
            friend = besieged.target.befriend()
            dialled, _ = listener.accept()
            dialled.settimeout(PATIENCE)
            if chance.random() < 0.5:
                dialled.sendall(frame(Challenge(1, b"c" * 32)))
            throw(dialled, mutated(chance, seeds))
            friend.close()
    besieged.expect_service()
    besieged.expect_calm()
