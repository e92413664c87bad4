"""`vez torture` on etcd: killed, paused, interrupted and forked workers, all kinds of locks, forced releases."""

from __future__ import annotations

import pytest

from tests.locks.etcd.faulty import keys, leases
from vez.testing.actors import eventually
from vez.testing.servers import EtcdServer
from vez.testing.torture import Campaign, Plan

TIMED = ("prompt_hand_over", "prompt_takeover", "throughput")
"""Properties that `vez torture` judges, but not these tests, because other tests keep the machine busy."""


@pytest.mark.parametrize(
    "plan",
    [
        {"faults": ("kill", "pause", "fork", "interrupt")},
        {"faults": ("kill", "pause", "interrupt", "break"), "kinds": ("lock", "read-write", "semaphore", "election")},
    ],
    ids=["lock", "all kinds"],
)
def test_torture(own_etcd: EtcdServer, plan: dict[str, tuple[str, ...]]) -> None:
    url = f"{own_etcd.url}/torture?lease=1"
    outcome = Campaign(Plan(url=url, workers=4, seconds=40, entries=400, seed=5, **plan)).run()  # type: ignore[arg-type]
    assert outcome.entries >= 20
    assert outcome.faults["kill"] >= 1
    assert not [verdict for verdict in outcome.broken if verdict.name not in TIMED]
    eventually(lambda: not leases(own_etcd), "the end of the leases of those that were killed")
    assert [key for key in keys(own_etcd) if "/breaks/" not in key] == []
