"""Cost and fault tolerance of each algorithm according to the papers, as functions of N, the number of processes.

Delays are in message times. Messages to oneself are not counted. The coordinators of a star or a quorum are among
the N. An algorithm that is not listed is measured without formulas.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import msgspec

from vez.core.voting import voting_set
from vez.study.compare.figure import Bound, Claim, between, exactly

COORDINATORS = 3
"""Default number of coordinators of `quorum` and `quorum-retry`; 2 of them are a quorum."""
INSIDE_MS = 1.0
"""Length of each stay when the rate of entries is measured."""


class MutexFormulas(msgspec.Struct, frozen=True, kw_only=True):
    """The claims on one algorithm of mutual exclusion."""

    idle_messages: Claim | None = None
    full_messages: Claim | None = None
    client_delay: Claim | None = None
    synchronization_delay: Claim | None = None
    entries_per_ms: Claim | None = None
    load: Claim | None = None
    bypasses: Claim | None = None
    idle_crashes: Claim | None = None
    any_crashes: Claim | None = None
    inside_crash: Claim | None = None
    for_long_stays: dict[str, Any] = {}
    """Parameters with which the algorithm allows long stays, for measuring the synchronization delay."""


def _rate(delay: float) -> float:
    return 1 / (INSIDE_MS + delay)


def depth(n: int) -> int:
    """Depth of the binary heap that `raymond` uses as its tree."""
    return n.bit_length() - 1


@cache
def _voters(n: int) -> tuple[int, int, int]:
    """Size of the smallest, the largest and the last voting set of the grid."""
    ids = tuple(range(1, n + 1))
    sizes = [len(voting_set(process, ids)) for process in ids]
    return min(sizes), max(sizes), sizes[-1]


_NONE = exactly("0", 0)
_NOBODY = exactly("no", 0)
_SERVER = {
    "idle_messages": exactly("3", 3),
    "full_messages": exactly("3", 3),
    "client_delay": exactly("2", 2),
    "synchronization_delay": exactly("2", 2),
    "entries_per_ms": exactly("1/(1+2)", _rate(2)),
    "load": exactly("1", 1),
    "bypasses": exactly("0", 0),
    "idle_crashes": exactly("N−2", lambda n: n - 2),
    "any_crashes": _NONE,
}
_QUORUM = {
    "idle_messages": exactly("3n", 3 * COORDINATORS),
    "client_delay": exactly("2", 2),
    "synchronization_delay": exactly("2", 2),
    "idle_crashes": exactly("N−1", lambda n: n - 1),
    "any_crashes": exactly("n−m", COORDINATORS - (COORDINATORS // 2 + 1)),
    "inside_crash": _NOBODY,
}
_ALL_AGREE = {
    "client_delay": exactly("2", 2),
    "synchronization_delay": exactly("1", 1),
    "entries_per_ms": exactly("1/(1+1)", _rate(1)),
    "load": exactly("2/N", lambda n: 2 / n),
    "bypasses": exactly("0", 0),
    "idle_crashes": _NONE,
    "any_crashes": _NONE,
    "inside_crash": _NOBODY,
}
_VOTES = {
    "idle_messages": between("3(K−1)", lambda n: 3 * (_voters(n)[0] - 1), lambda n: 3 * (_voters(n)[1] - 1)),
    "client_delay": exactly("2", 2),
    "synchronization_delay": exactly("2", 2),
    "idle_crashes": exactly("N−K", lambda n: n - _voters(n)[2]),
    "any_crashes": _NONE,
    "inside_crash": _NOBODY,
}

MUTEX: dict[str, MutexFormulas] = {
    "coordinator": MutexFormulas(**_SERVER, inside_crash=_NOBODY),  # type: ignore[arg-type]
    "coordinator-lease": MutexFormulas(
        **_SERVER,
        inside_crash=exactly("yes", 1),
        for_long_stays={"lease_ms": 1e6},
    ),
    "token-ring": MutexFormulas(
        idle_messages=between("1 to ∞", 1),
        full_messages=between("1", 1, lambda n: 1 + 1 / n),  # plus the first hop of the first lap
        client_delay=between("0 to N", 0, lambda n: n),
        synchronization_delay=between("1 to N", 1, lambda n: n),
        entries_per_ms=exactly("1/(1+1)", _rate(1)),
        load=between("≈ 2/N", lambda n: 1.9 / n, lambda n: 3 / n),
        bypasses=between("≤ N−1", 0, lambda n: n - 1),
        idle_crashes=_NONE,
        any_crashes=_NONE,
        inside_crash=_NOBODY,
    ),
    "quorum": MutexFormulas(
        **_QUORUM,  # type: ignore[arg-type]
        full_messages=exactly("3n", 3 * COORDINATORS),
        entries_per_ms=exactly("1/(1+2)", _rate(2)),
        load=exactly("1/n", lambda n: max(1 / COORDINATORS, 1 / max(1, n - COORDINATORS))),
    ),
    "quorum-retry": MutexFormulas(
        **_QUORUM,
        full_messages=between("≥ 3n", 3 * COORDINATORS),
        for_long_stays={"patience_ms": 1e6},
    ),
    "lamport": MutexFormulas(
        **_ALL_AGREE,  # type: ignore[arg-type]
        idle_messages=exactly("3(N−1)", lambda n: 3 * (n - 1)),
        full_messages=exactly("3(N−1)", lambda n: 3 * (n - 1)),
    ),
    "ricart-agrawala": MutexFormulas(
        **_ALL_AGREE,  # type: ignore[arg-type]
        idle_messages=exactly("2(N−1)", lambda n: 2 * (n - 1)),
        full_messages=exactly("2(N−1)", lambda n: 2 * (n - 1)),
    ),
    "ricart-agrawala-priority": MutexFormulas(
        idle_messages=exactly("2(N−1)", lambda n: 2 * (n - 1)),
        full_messages=exactly("2(N−1)", lambda n: 2 * (n - 1)),
        client_delay=exactly("2", 2),
        idle_crashes=_NONE,
        any_crashes=_NONE,
        inside_crash=_NOBODY,
    ),
    "maekawa": MutexFormulas(
        **_VOTES,  # type: ignore[arg-type]
        full_messages=between("3(K−1)", lambda n: 3 * (_voters(n)[0] - 1), lambda n: 3 * (_voters(n)[1] - 1)),
    ),
    "maekawa-fair": MutexFormulas(
        **_VOTES,  # type: ignore[arg-type]
        full_messages=between("≤ 6(K−1)", lambda n: 3 * (_voters(n)[0] - 1), lambda n: 6 * (_voters(n)[1] - 1)),
        bypasses=between("≤ N−1", 0, lambda n: n - 1),
    ),
    "suzuki-kasami": MutexFormulas(
        idle_messages=between("0 or N", 0, lambda n: n),
        full_messages=between("0 or N", lambda n: n - 1, lambda n: n),
        client_delay=between("0 or 2", 0, 2),
        synchronization_delay=exactly("1", 1),
        entries_per_ms=exactly("1/(1+1)", _rate(1)),
        bypasses=between("≤ N−2", 0, lambda n: n - 2),
        idle_crashes=exactly("N−2", lambda n: n - 2),
        any_crashes=_NONE,
        inside_crash=_NOBODY,
    ),
    "raymond": MutexFormulas(
        idle_messages=between("≤ 2D", 0, lambda n: 2 * 2 * depth(n)),
        full_messages=between("≤ 4", 1, 4),
        client_delay=between("0 to 2D", 0, lambda n: 2 * 2 * depth(n)),
        synchronization_delay=between("1 to D", 1, lambda n: 2 * depth(n)),
        entries_per_ms=between("1/(1+D) to 1/(1+1)", lambda n: _rate(2 * depth(n)), _rate(1)),
        idle_crashes=exactly("N−1−⌊log₂ N⌋", lambda n: n - 1 - depth(n)),
        any_crashes=_NONE,
        inside_crash=_NOBODY,
    ),
    "naimi-trehel": MutexFormulas(
        idle_messages=between("≤ N", 0, lambda n: n),
        # Path reversal: n + m requests' worth of log₂ n steps for m requests (Ginat, Sleator and Tarjan, 1989); m ≥ n.
        full_messages=between("O(log N)", 0, lambda n: 1 + 2 * math.log2(n)),
        client_delay=between("0 to N", 0, lambda n: n),
        synchronization_delay=exactly("1", 1),
        entries_per_ms=exactly("1/(1+1)", _rate(1)),
        idle_crashes=exactly("N−2", lambda n: n - 2),
        any_crashes=_NONE,
        inside_crash=_NOBODY,
    ),
}


def mutex_formulas(name: str) -> MutexFormulas:
    """The claims on an algorithm; empty if none are listed."""
    return MUTEX.get(name, MutexFormulas())


class ElectionFormulas(msgspec.Struct, frozen=True, kw_only=True):
    """The claims on one election. Messages include the announcement."""

    one_starter: Claim | None = None
    all_start: Claim | None = None
    mean: Claim | None = None
    rounds: Claim | None = None
    mean_rounds: Claim | None = None
    """For algorithms whose number of rounds is random and unbounded."""
    time: Claim | None = None
    size: Claim | None = None
    leaders: Claim | None = exactly("1", 1)
    crash_messages: Claim | None = None
    crash_time: Claim | None = None
    watched: Claim | None = exactly("N(N−1)", lambda n: n * (n - 1))
    beats: Claim | None = exactly("10N(N−1)", lambda n: 10 * n * (n - 1))
    """This field and the one before apply only if a failure detector is used."""


def harmonic(n: int) -> float:
    """1 + 1/2 + … + 1/n."""
    return math.fsum(1 / k for k in range(1, n + 1))


def graph_edges(n: int) -> tuple[tuple[int, int], ...]:
    """The graph for comparing elections on graphs: a ring with a chord from every third process."""
    ring = [(k, k % n + 1) for k in range(1, n + 1)]
    chords = [(k, (k + n // 2 - 1) % n + 1) for k in range(1, n // 2 + 1, 3)] if n >= 6 else []
    return tuple((min(edge), max(edge)) for edge in (*ring, *chords))


def _log(n: int) -> int:
    return math.ceil(math.log2(n))


def _both(text: str, low: Bound | float, high: Bound | float) -> dict[str, Claim]:
    """One claim for both cases, one starter and all: other processes join with their first message."""
    return {"one_starter": between(text, low, high), "all_start": between(text, low, high)}


ELECTION: dict[str, ElectionFormulas] = {
    "ring-anonymous": ElectionFormulas(
        one_starter=exactly("2N", lambda n: 2 * n),
        leaders=exactly("all who stand", lambda n: n),
    ),
    "ring-collect": ElectionFormulas(
        one_starter=exactly("2N", lambda n: 2 * n),
        all_start=exactly("N²+N", lambda n: n * n + n),
        mean=exactly("N²+N", lambda n: n * n + n),
        time=between("≤ 2N", lambda n: n, lambda n: 2 * n),
        size=between("N", lambda n: n, lambda n: n + 1),
    ),
    "chang-roberts": ElectionFormulas(
        one_starter=between("≤ 3N−1", lambda n: 2 * n, lambda n: 3 * n - 1),
        all_start=between("3N−1 to N(N+3)/2", lambda n: 3 * n - 1, lambda n: n * (n + 3) / 2),
        mean=between("≈ N·H+N", lambda n: 0.9 * n * (harmonic(n) + 1), lambda n: 1.1 * n * (harmonic(n) + 1)),
        time=between("≤ 2N", 0, lambda n: 2 * n),
        size=exactly("1", 1),
    ),
    "franklin": ElectionFormulas(
        **_both("5N to 2N(⌊log₂ N⌋+1)+N", lambda n: 5 * n, lambda n: 2 * n * n.bit_length() + n),
        rounds=between("≤ ⌊log₂ N⌋+1", 2, lambda n: n.bit_length()),
    ),
    "tournament": ElectionFormulas(
        **_both("≤ 8N(1+⌈log₂ N⌉)+N", lambda n: 3 * n, lambda n: 8 * n * (1 + _log(n)) + n),
        rounds=between("≤ ⌈log₂ N⌉+1", 1, lambda n: _log(n) + 1),
    ),
    "dolev-klawe-rodeh": ElectionFormulas(
        **_both("≤ 2N⌊log₂ N⌋+2N", lambda n: 3 * n, lambda n: 2 * n * (n.bit_length() - 1) + 2 * n),
        rounds=between("≤ ⌊log₂ N⌋+1", 2, lambda n: n.bit_length()),
        size=between("1", 1, 2),
    ),
    "itai-rodeh": ElectionFormulas(
        one_starter=between("≥ 2N", lambda n: 2 * n, math.inf),
        mean=between("O(N log N)", lambda n: 2 * n, lambda n: 3 * n * math.log2(n) + n),
        mean_rounds=between("mean ≤ e·N/(N−1)", 1, lambda n: math.e * n / (n - 1)),
    ),
    "yoyo": ElectionFormulas(
        **_both("≤ 2m(⌈log₂ N⌉+3)", 0, lambda n: 2 * len(graph_edges(n)) * (_log(n) + 3)),
        rounds=between("≤ ⌈log₂ N⌉+1", 1, lambda n: _log(n) + 1),
    ),
    "bully": ElectionFormulas(
        # All live: N(N−1)/2 questions, as many answers, N−1 announcements, and one more to each who asks the leader.
        one_starter=between("N−1 to (N−1)(N+2)", lambda n: n - 1, lambda n: (n - 1) * (n + 2)),
        all_start=exactly("(N−1)(N+2)", lambda n: (n - 1) * (n + 2)),
        mean=exactly("(N−1)(N+2)", lambda n: (n - 1) * (n + 2)),
        size=between("0", 0, 0),
        crash_messages=between("N−2 to N²−N−1", lambda n: n - 2, lambda n: n * n - n - 1),
        watched=exactly("N(N−1)/2", lambda n: n * (n - 1) / 2),
        beats=exactly("5N(N−1)", lambda n: 5 * n * (n - 1)),
    ),
    "bully-stable": ElectionFormulas(
        one_starter=between("≤ 3N(N−1)/2+N−1", lambda n: n - 1, lambda n: 3 * n * (n - 1) / 2 + n - 1),
        all_start=between("≤ 3N(N−1)/2+N−1", lambda n: n - 1, lambda n: 3 * n * (n - 1) / 2 + n - 1),
    ),
    "luis": ElectionFormulas(
        **_both("0", 0, 0),
        mean=exactly("0", 0),
        time=exactly("0", 0),
        size=exactly("0", 0),
        crash_messages=exactly("0", 0),
        crash_time=exactly("the detector's", 2),
    ),
    "invitation": ElectionFormulas(leaders=between("one a group", 1, lambda n: n)),
    "majority": ElectionFormulas(all_start=between("≥ 2(N−1)+N/2", lambda n: 2 * (n - 1) + n // 2)),
}


def election_formulas(name: str) -> ElectionFormulas:
    """The claims on an election; only "one leader" if none are listed."""
    return ELECTION.get(name, ElectionFormulas())
