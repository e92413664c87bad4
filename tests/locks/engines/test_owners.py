"""Owners: entries of claims that are gone do not stay."""

from __future__ import annotations

import gc
from weakref import ref

from vez.locks.engines import open_engine
from vez.locks.engines.base import Request
from vez.locks.engines.owners import Owner


def test_an_entry_whose_claim_is_gone_is_removed_at_the_next_look() -> None:
    owner = Owner()
    engine = open_engine("memory:owners")

    class Gone:
        """A claim whose finaliser was struck by an interrupt before it removed its entry."""

    claim = Gone()
    owner.entries.append((owner, engine, ref(claim), None))  # type: ignore[arg-type]
    del claim
    gc.collect()
    engine.acquire(Request("x"), owner.number, 0).release()
    assert owner.entries == []
