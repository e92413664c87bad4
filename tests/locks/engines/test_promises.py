"""The texts of `vez engines` and `vez doctor` about an engine follow its traits."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from vez.cli.engines import engines
from vez.errors import Misuse
from vez.locks.engines import provider
from vez.locks.engines.promises import freed
from vez.locks.peers.settings import read_url
from vez.locks.peers.traits import traits_of

GROUP = "peers://unix:sockets/1,unix:sockets/2?me=1&algorithm="


def test_a_lease_can_be_chosen_only_where_a_request_may_name_one() -> None:
    assert freed(provider("etcd").TRAITS) == "when its lease has expired: 10 s unless lease= says otherwise"
    assert freed(traits_of(read_url(f"{GROUP}coordinator-lease"))) == "when its lease has expired: 0.6 s"


@pytest.mark.parametrize("algorithm", ["token-ring", "majority", "coordinator-lease"])
def test_the_engine_of_groups_is_described_for_an_algorithm(algorithm: str) -> None:
    shown = CliRunner().invoke(engines, ["peers", "--algorithm", algorithm], standalone_mode=False)
    told = CliRunner().invoke(engines, ["peers", "--algorithm", algorithm, "--json"], standalone_mode=False)
    described = json.loads(told.output)
    traits = traits_of(read_url(f"{GROUP}{algorithm}"))
    assert described["algorithm"] == algorithm
    assert described["free"] == freed(traits)
    assert described["traits"]["notes"] == list(traits.notes)
    assert traits.notes
    for note in traits.notes:
        assert f"- {note}" in shown.output


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["peers", "--algorithm", "nope"], "unknown algorithm 'nope'", "known: bully, "),
        (["peers", "--algorithm", "zoo:twins"], "zoo:twins is one of the plausible mistakes", "vez algorithms"),
        (["file", "--algorithm", "bully"], "file: does not work by an algorithm", "leave --algorithm out"),
        (["--algorithm", "bully"], "--algorithm has no effect without SCHEME", "add SCHEME"),
    ],
)
def test_an_algorithm_that_cannot_be_described_is_refused(arguments: list[str], message: str, hint: str) -> None:
    failed = CliRunner().invoke(engines, arguments, standalone_mode=False).exception
    assert isinstance(failed, Misuse)
    assert message in failed.message
    assert hint in (failed.hint or "")
