"""`vez doctor` on real etcd servers: healthy, alone, without fsync, with a dead member, and something else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from tests.locks.etcd.conftest import started
from vez.cli.doctor import doctor
from vez.locks.engines.etcd import examination, examine
from vez.locks.engines.promises import Finding
from vez.testing.servers import EtcdServer, free_port


@pytest.fixture
def careless_etcd() -> Iterator[EtcdServer]:
    """A server that does not write to disk before it answers."""
    yield from started("distro", "--unsafe-no-fsync")


def found(url: str) -> dict[str, Finding]:
    return {one.what.partition(" 1")[0]: one for one in examine(url)}


@pytest.mark.parametrize("which", ["etcd", "newer_etcd"])
def test_a_healthy_server_has_no_problem(which: str, request: pytest.FixtureRequest) -> None:
    server: EtcdServer = request.getfixturevalue(which)
    told = found(server.url)
    assert {one.level for one in told.values()} <= {"fine", "note"}
    assert told["member"].found.startswith("etcd 3.")
    assert "the leader" in told["member"].found
    assert told["cluster"].found == "1 voting member, survives the loss of 0"
    assert told["durability"].found.startswith("every write is synced to disk")
    assert told["protection"].found == "loopback, no user"


def test_the_command_measures_and_tells_what_the_contract_gives(etcd: EtcdServer) -> None:
    done = CliRunner().invoke(
        doctor, [etcd.url, "--json", "--pairs", "3"], standalone_mode=False, catch_exceptions=False
    )
    told = json.loads(done.stdout)
    assert told["findings"][-2]["found"].endswith("of 3 pairs")
    assert {"what": "who can take part", "here": "programs on many machines"} in told["gives"]
    assert told["does_not_give"]
    assert not told["problem"]


def test_a_server_without_fsync_is_a_problem(careless_etcd: EtcdServer) -> None:
    told = found(careless_etcd.url)["durability"]
    assert (told.level, told.found) == ("problem", "it writes without fsync")


def test_a_dead_member_is_a_problem_and_the_others_are_looked_at(etcd: EtcdServer) -> None:
    dead = free_port()
    findings = examine(f"{etcd.url},127.0.0.1:{dead}")
    assert [one.level for one in findings[:2]] == ["fine", "problem"]
    assert f"127.0.0.1:{dead}" in findings[1].what
    assert "refused" in findings[1].found
    assert any(one.what == "durability" for one in findings)


@pytest.mark.parametrize("text", ["", "nan", "+Inf", "1e999", "9" * 400, "-1", "1_0", "\u0661", "0x10", "1e", "text"])
def test_a_metric_that_is_no_number_is_not_told(text: str) -> None:
    assert examination._metric(f"name {text}\n", "name") is None


@pytest.mark.parametrize("text", ["0", "12", "0.00012833300000000002", "2.6e-05", "2.147483648e+09"])
def test_metrics_as_etcd_writes_them(text: str) -> None:
    assert examination._metric(f"other 3\nname {text}\n", "name") == float(text)
