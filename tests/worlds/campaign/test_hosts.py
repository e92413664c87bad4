"""Nodes on several hosts, which are network namespaces of this machine: TLS, pulled cables, slow cables, kills."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.namespaces import Hosts, Refused, hosts
from tests.worlds.node.processes import Running
from vez.catalogue.algorithms import find
from vez.cli.app import run
from vez.core.trace import Trace
from vez.judge.properties import Status, judge
from vez.judge.validate import Answer, validate
from vez.worlds.node.cluster.assemble import assemble, scenario_of
from vez.worlds.node.cluster.journals import read_lives
from vez.worlds.sim.setup import Setup

SCALE = "20"


class Spread:
    """One node of a group on each host."""

    def __init__(self, folder: Path, network: Hosts, algorithm: str) -> None:
        self.network = network
        self._folder = folder
        self._algorithm = algorithm
        assert run(["certs", str(folder / "certs"), "--name", "spread", "--ids", "1,2,3"]) == 0
        nodes = "".join(f'{number} = "{network.address(number)}:7000"\n' for number in (1, 2, 3))
        names = 'authority = "certs/ca.pem"\ncertificate = "certs/node-{id}.pem"\nkey = "certs/node-{id}.key"\n'
        (folder / "group.toml").write_text(f'name = "spread"\n[nodes]\n{nodes}[tls]\n{names}')
        self.nodes = {number: self.start(number) for number in (1, 2, 3)}
        topology = find(algorithm).topology((1, 2, 3))
        for number, node in self.nodes.items():
            missing = set(topology.neighbours(number)) - {number}
            while missing:
                missing.discard(node.event("linked")["peer"])
        for node in self.nodes.values():
            node.do("start")
            node.event("started")

    def start(self, number: int, *more: str) -> Running:
        """Start a node on its host."""
        options = ["--group", str(self._folder / "group.toml"), "--algorithm", self._algorithm, "--hold"]
        options += ["--time-scale", SCALE, "--trace", str(self._folder / "journal"), "--state", str(self._folder / "s")]
        return Running(["--id", str(number), *options, *more], {}, before=self.network.on(number))

    def trace(self) -> Trace:
        """Stop all nodes. Returns the trace of their run."""
        for node in self.nodes.values():
            node.do("stop")
            node.close()
        lives = read_lives(self._folder / "journal")
        return assemble(lives, Setup(scenario_of(lives), find(self._algorithm)))


@contextmanager
def spread(folder: Path, algorithm: str) -> Iterator[Spread]:
    folder.chmod(0o700)
    with hosts(3) as network:
        made = Spread(folder, network, algorithm)
        try:
            yield made
        finally:
            for node in made.nodes.values():
                if node.process.poll() is None:
                    node.kill()


def test_a_pulled_cable_holds_everybody_up_and_nothing_is_lost(tmp_path: Path) -> None:
    with spread(tmp_path, "ricart-agrawala") as made:
        try:
            made.network.slow(2, 30)
        except Refused as error:
            print(f"no slow cable: {error}")
        made.network.unplug(3)
        made.nodes[1].do("want 20")
        made.nodes[2].do("want 20")
        made.nodes[1].do("status")
        assert made.nodes[1].until(lambda line: "status" in line)["status"]["state"] == "waiting"
        made.network.plug(3)
        made.nodes[3].do("want 20")
        for node in made.nodes.values():
            node.event("left")
        trace = made.trace()
    assert validate(trace, find("ricart-agrawala")).answer is Answer.POSSIBLE
    statuses = {verdict.name: verdict.status for verdict in judge(trace)}
    assert statuses["exclusion"] is Status.HOLDS_IN_RUNS
    assert statuses["starvation_freedom"] is Status.HOLDS_IN_RUNS


def test_a_leader_whose_cable_is_pulled_is_replaced_and_accepts_it_later(tmp_path: Path) -> None:
    with spread(tmp_path, "majority") as made:
        made.nodes[1].do("elect")
        first = made.nodes[1].until(lambda line: line.get("event") == "elected" and line.get("leader"))
        old, term = first["leader"], first["term"]
        made.network.unplug(old)
        other = next(number for number in made.nodes if number != old)
        newer = made.nodes[other].until(
            lambda line: (
                line.get("event") == "elected" and line.get("leader") not in (None, old) and line["term"] > term
            )
        )
        made.network.plug(old)
        made.nodes[old].until(
            lambda line: (
                line.get("event") == "elected" and line.get("leader") != old and line.get("term", 0) >= newer["term"]
            )
        )
        trace = made.trace()
    assert validate(trace, find("majority")).answer is Answer.POSSIBLE
    assert {verdict.name: verdict.status for verdict in judge(trace)}["uniqueness"] is Status.HOLDS_IN_RUNS


def test_stays_that_no_messages_order_are_possibly_overlapping_and_never_hold(tmp_path: Path) -> None:
    """The holder of a lease is stopped until another process is inside. Their clocks are days apart, and no message
    shows which of the two stays ended first."""
    with spread(tmp_path, "coordinator-lease") as made:
        made.nodes[2].do("want 20")
        made.nodes[2].event("entered")
        made.nodes[2].process.send_signal(signal.SIGSTOP)
        made.nodes[3].do("want 20")
        made.nodes[3].event("left")
        made.nodes[2].process.send_signal(signal.SIGCONT)
        made.nodes[2].event("left")
        trace = made.trace()
    assert trace.header.hosts == (0, 1, 2), "the clocks of the hosts cannot be compared"
    assert validate(trace, find("coordinator-lease")).answer is Answer.POSSIBLE
    verdict = next(one for one in judge(trace) if one.name == "exclusion")
    assert verdict.status is Status.UNDECIDED
    assert "possibly" in verdict.evidence, verdict.evidence


def test_a_machine_that_allows_no_namespaces_is_a_skip_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match="network namespaces need ip"), hosts(1):
        pass
