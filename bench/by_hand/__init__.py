"""The algorithms as one would write them by hand for one workload: the honest limit of what a simulator can reach.

No classes, no validation, no faults, no traces: lists, numbers, tuples, and a heap of (time, number, handler, to,
sender, value). Processes are 1 to n, every message takes one unit of time, nothing is written that this workload does
not need. Chance is the simulator's for seed 0, so messages and entries are the same, to the last one.
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
