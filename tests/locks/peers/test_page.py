"""The table of algorithms in docs/reference/peers.md matches the declarations of the classes."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.locks.peers.groups import Places
from vez.catalogue.algorithms import ALGORITHMS
from vez.locks.peers.eligible import why_not
from vez.locks.peers.settings import OPTIONS, read_url
from vez.locks.peers.traits import traits_of

FREES = {"lease": "the lease", "members": "the members", None: "nothing"}


def row(name: str, made: Places) -> str:
    traits = traits_of(read_url(made.url(1, name)))
    gives = "locks" if traits.locks else "elections"
    token = "no" if traits.token is None else "yes"
    return f"| `{name}` | {gives} | {token} | {FREES[traits.frees]} |"


def test_the_page_lists_every_algorithm_that_can_be_an_engine() -> None:
    page = (ROOT / "docs/reference/peers.md").read_text()
    made = Places()
    expected = [row(name, made) for name, kind in ALGORITHMS.items() if not why_not(name, kind)]
    made.remove()
    found = [line for line in page.splitlines() if line.count("|") == 5 and line.startswith("| `")]
    assert found == expected


def test_the_page_explains_every_option() -> None:
    page = (ROOT / "docs/reference/peers.md").read_text()
    assert [option for option in OPTIONS if f"`{option}`" not in page] == []
