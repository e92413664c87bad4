"""The algorithms written by hand for one workload: a practical limit of the speed that a simulator can reach.

They have no classes, no validation, no faults and no traces: only lists, numbers, tuples, and a heap of (time, number,
handler, to, sender, value). Processes are 1 to n, every message takes one unit of time, and there is no code that this
workload does not need. Random numbers are those of the simulator for seed 0, so all messages and entries are the same.
"""

from __future__ import annotations

from bench.by_hand import coordinators, elected, fair_votes, permissions, tokens
from bench.by_hand.loop import Algorithm, play

__all__ = ["BY_HAND", "play"]

BY_HAND: dict[str, Algorithm] = {
    "coordinator": coordinators.coordinator,
    "coordinator-lease": coordinators.coordinator_lease,
    "token-ring": tokens.token_ring,
    "quorum": coordinators.quorum,
    "quorum-retry": coordinators.quorum_retry,
    "elected-coordinator": elected.elected_coordinator,
    "lamport": permissions.lamport,
    "ricart-agrawala": permissions.ricart_agrawala,
    "ricart-agrawala-priority": permissions.ricart_agrawala_priority,
    "maekawa": permissions.maekawa,
    "maekawa-fair": fair_votes.maekawa_fair,
    "suzuki-kasami": tokens.suzuki_kasami,
    "raymond": tokens.raymond,
    "naimi-trehel": tokens.naimi_trehel,
}
