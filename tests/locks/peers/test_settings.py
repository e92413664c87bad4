"""Settings from a URL, and the errors for wrong URLs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from msgspec import convert

from tests.locks.peers.groups import key_file
from vez.catalogue.algorithms import ALGORITHMS
from vez.core.process import PARAMETER, Mutex, marked
from vez.core.trace import Elected
from vez.errors import BadData, MissingFile, Misuse, UnknownName
from vez.locks.engines import open_engine
from vez.locks.peers.eligible import has_terms, why_not
from vez.locks.peers.settings import read_url
from vez.locks.peers.traits import traits_of
from vez.worlds.node.group import Tcp
from vez.worlds.sim.scenario import Crash, Elect, Scenario
from vez.worlds.sim.simulation import simulate

LEASE = "algorithm=coordinator-lease&me=1&key_file=KEY"
PLACES = "//127.0.0.1:7001,127.0.0.1:7002,[::1]:7003"


def test_a_list_of_addresses_with_options_and_parameters(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    url = f"peers:{PLACES}?algorithm=coordinator-lease&me=2&key_file={key}&lease_ms=50&names=7&time_scale=20&join=3"
    found = read_url(url)
    assert found.group.addresses == {1: Tcp("127.0.0.1", 7001), 2: Tcp("127.0.0.1", 7002), 3: Tcp("::1", 7003)}
    assert (found.me, found.peers, found.names, found.time_scale, found.join_s) == (2, (1, 3), 7, 20.0, 3.0)
    assert found.setup.process(2).lease_ms == 50  # type: ignore[attr-defined]
    assert found.group.key == key.read_bytes()


def test_a_group_file(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    file = tmp_path / "group.toml"
    file.write_text(f'name = "demo"\nkey_file = "{key.name}"\n[nodes]\n5 = "127.0.0.1:7001"\n3 = "127.0.0.1:7002"\n')
    found = read_url(f"peers://{file}?algorithm=raymond&me=5")
    assert (found.group.name, found.group.ids, found.peers) == ("demo", (5, 3), (3,))
    assert read_url(f"peers:{file}?algorithm=raymond&me=3").me == 3
    with pytest.raises(Misuse, match="say it in the group file"):
        read_url(f"peers:{file}?algorithm=raymond&me=3&group=other")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"peers:{PLACES}?me=1", "does not say algorithm="),
        (f"peers:{PLACES}?algorithm=raymond", "does not say me="),
        (f"peers:{PLACES}?algorithm=raymond&me=4&key_file=KEY", "me=4 is not a member.*1, 2, 3"),
        (f"peers:{PLACES}?algorithm=raymond&me=x&key_file=KEY", "expected a whole number"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&me=2", "given twice"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key=secret", "a key does not belong into a URL.*key_file="),
        (f"peers:{PLACES}?algorithm=raymond&me=1", "every user of this host, and there is no key"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=missing", "cannot read missing"),
        ("peers://10.0.0.1:1,10.0.0.2:1?algorithm=raymond&me=1&key_file=KEY", "there are no certificates"),
        ("peers://10.0.0.1:1,10.0.0.2:1?algorithm=raymond&me=1&authority=a", "TLS needs authority=, certificate="),
        ("peers://10.0.0.1,10.0.0.2:1?algorithm=raymond&me=1", "is not an address"),
        ("peers://a..b:1,10.0.0.2:1?algorithm=raymond&me=1", "'a..b:1' is not an address"),
        (f"peers://{'a' * 300}:1,10.0.0.2:1?algorithm=raymond&me=1", "is not an address"),
        ("peers://unix:a\0b,10.0.0.2:1?algorithm=raymond&me=1", "is not an address"),
        ("peers://a\0b:1,10.0.0.2:1?algorithm=raymond&me=1", "is not an address"),
        (f"peers:{PLACES}?algorithm=raimond&me=1&key_file=KEY", "did you mean raymond"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&aritty=3", "did you mean arity"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&arity=many", "parameter arity of raymond"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&arity=0", "arity: expected 1 or more children, found 0"),
        (f"peers:{PLACES}?{LEASE}&lease_ms=-5", "lease_ms of coordinator-lease: expected 0 to .* ms, found -5"),
        (f"peers:{PLACES}?{LEASE}&lease_ms=1e13", r"lease_ms of coordinator-lease: expected .* found 1e\+13"),
        (f"peers:{PLACES}?{LEASE}&lease_ms=4", "a lock by coordinator-lease would be lost at once"),
        (f"peers:{PLACES}?algorithm=majority&me=1&key_file=KEY&spread_ms=-1", "spread_ms of majority: expected 0 to"),
        (f"peers:{PLACES}?algorithm=bully&me=1&key_file=KEY&answer_ms=-1", "answer_ms of bully: expected 0 to"),
        (f"peers:{PLACES}?algorithm=maekawa&me=1&key_file=KEY&voting_sets=[[1],[2],[3]]", "share no voter"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&names=0", "expected 1 to"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&names=1_0", "names=1_0: expected a whole number"),
        (f"peers:{PLACES}?algorithm=raymond&me=\u0661&key_file=KEY", "expected a whole number"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&join=1_0", "join=1_0: expected a number from 0 to"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&reply=-1", "reply=-1: expected a number from 0 to"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&state=", "the option state is empty"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&suspect_ms=50", "beat_ms=100 is not below suspect_ms=50"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&time_scale=nan", "expected a number"),
        (f"peers:{PLACES}?algorithm=raymond&me=1&key_file=KEY&detector=oracle", "unknown detector"),
        ("peers://127.0.0.1:7001?algorithm=raymond&me=1&key_file=KEY", "needs at least 2"),
        (f"peers:{PLACES}?algorithm=ring-anonymous&me=1&key_file=KEY", "kept although it is wrong"),
        (f"peers:{PLACES}?algorithm=zoo:twins&me=1&key_file=KEY", "zoo"),
        (f"peers:{PLACES}?algorithm=FILE&me=1&key_file=KEY", "neither a mutual exclusion nor an election"),
        (f"peers:{PLACES}?algorithm", "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(url: str, words: str, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("from vez.core import Process\n\n\nclass Other(Process):\n    name = 'other'\n")
    text = url.replace("KEY", str(key_file(tmp_path))).replace("FILE", str(other))
    with pytest.raises((Misuse, UnknownName, BadData, MissingFile), match=words) as found:
        open_engine(text)
    assert "\n" not in str(found.value)
    assert "secret" not in str(found.value)


VALUES = ("-5", "-1", "0", "1", "1.5", "4", "1e9", "1e13", "1e400", "nan", "-inf", "true", "null", "text", "",
          "99999999999999999999", "[]", "{}", "[1]", "[9]", "[[1,2]]", "[[1,1],[1,2]]", "[[9,1]]", "[[1,-1]]",
          "[[1,2],[2,3],[1,3]]", "[[1],[2],[3]]", "chang-roberts")  # fmt: skip
PARAMETERS = [
    (name, parameter) for name, kind in ALGORITHMS.items() if not why_not(name, kind)
    for parameter in marked(kind, PARAMETER)
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_parameters_that_the_url_accepts_end_no_member(name: str, parameter: str) -> None:
    """A value is refused before the member joins its group, or the algorithm runs with it."""
    accepted = []
    for value in VALUES:
        try:
            found = read_url(f"peers://unix:1,unix:2,unix:3?algorithm={name}&me=1&{parameter}={quote(value)}")
        except (Misuse, BadData):
            continue
        accepted.append(value)
        traits_of(found)
        asked = [{"process": member, "at_ms": member} for member in found.group.ids]
        harness = {"want": asked} if issubclass(found.kind, Mutex) else {"elect": asked[:1]}
        limits = {"until_ms": 20, "max_events": 200, "parameters": found.setup.scenario.parameters}
        scenario = convert({"algorithm": name, "n": 3} | limits | harness, Scenario)
        simulate(scenario, found.kind)  # raises if a handler fails
    assert 0 < len(accepted) < len(VALUES)


def test_what_can_be_an_engine_is_what_the_class_says() -> None:
    refused = {name for name, kind in ALGORITHMS.items() if why_not(name, kind)}
    assert refused == {name for name, kind in ALGORITHMS.items() if kind.wrong}


RISING = [name for name, kind in ALGORITHMS.items() if has_terms(kind)]


@pytest.mark.parametrize("name", RISING)
def test_the_terms_of_an_election_that_says_so_rise_when_the_leader_dies(name: str) -> None:
    def terms(scenario: Scenario) -> list[tuple[int, int]]:
        trace = simulate(scenario, ALGORITHMS[name]).trace
        assert trace is not None
        return [
            (one.process, one.term) for one in trace.events if isinstance(one, Elected) and one.leader == one.process
        ]

    scenario = Scenario(algorithm=name, n=4, elect=(Elect(process=2, at_ms=0),), until_ms=200)
    ((leader, first),) = terms(scenario)
    found = [term for _, term in terms(scenario.but(crash=(Crash(process=leader, at_ms=50),)))]
    assert found[0] == first
    assert len(found) > 1
    assert found == sorted(set(found))


def test_notes_name_every_assumption_that_links_do_not_keep(tmp_path: Path) -> None:
    key = key_file(tmp_path)

    def notes(name: str) -> str:
        return " ".join(traits_of(read_url(f"peers:{PLACES}?algorithm={name}&me=1&key_file={key}")).notes)

    assert "no process stops" in notes("token-ring")
    assert "member 1, the coordinator, does not stop" in notes("coordinator-lease")
    assert "more than 200 ms" in notes("bully")
    assert "silent for 1 s" in notes("chang-roberts")
    assert "does not promise deadlock_freedom" in notes("maekawa")
    assert "does not come back" in notes("chang-roberts")
    assert "one election for each name" in notes("dolev-klawe-rodeh")
    assert "state=" in notes("majority")


def test_only_a_ring_that_idles_is_slowed_down(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    paced = {
        name: read_url(f"peers:{PLACES}?algorithm={name}&me=1&key_file={key}").pace_ms
        for name, kind in ALGORITHMS.items()
        if not why_not(name, kind)
    }
    assert {name for name, pace_ms in paced.items() if pace_ms} == {"token-ring"}
