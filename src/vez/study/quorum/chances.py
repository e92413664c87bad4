"""Probability that two are inside when coordinators forget, and that nobody can get in.

The model (Camargos, Coordenação, "Quórum"): there are n coordinators, and a participant inside holds the permissions
of m of them. While it is inside, each coordinator independently restarts without memory with probability P. A second
participant can get the permissions of the other n − m coordinators, and of those of the m that forgot. It needs m. So
two are inside exactly if at least 2m − n of the m forget:

    P_v = Σ_{k=2m−n}^{m} C(m,k) P^k (1−P)^{m−k}

The text speaks of "the intersection" of two quorums and then sums over any k of the m: the sum is over all
second quorums that could form. For one given second quorum, which shares exactly 2m − n coordinators with the
first, it is P^(2m−n). If the first participant asked alone and holds all n permissions, at least m of n must forget.
All three are computed, because the formula is the middle one.
"""

from __future__ import annotations

from fractions import Fraction

import msgspec

from vez.errors import Misuse
from vez.study.quorum.exact import at_least, plain, scientific

MAX_N = 1000


class QuorumRisk(msgspec.Struct, frozen=True):
    """Risk and availability of a quorum of m of n."""

    n: int
    m: int
    overlap: int
    """2m − n: the least number of members that two quorums share."""
    violation: Fraction
    """P_v: at least 2m − n of the m coordinators that gave permission forget."""
    given_pair: Fraction
    """All of the overlap of two given quorums forget."""
    all_held: Fraction
    """At least m of n forget, when the one inside holds all n permissions."""
    unavailable: Fraction
    """Fewer than m of n are up."""

    @property
    def available(self) -> Fraction:
        """At least m of n are up."""
        return 1 - self.unavailable


def check_quorum(n: int, m: int | None = None) -> None:
    """Raise `Misuse` unless m of n is a quorum."""
    if not 1 <= n <= MAX_N:
        raise Misuse(f"n = {n} coordinators, expected 1 to {MAX_N}")
    if m is not None and not n // 2 < m <= n:
        raise Misuse(
            f"m = {m} of n = {n} is not a quorum: two groups of m must share a member, and m must not exceed n",
            hint=f"expected m from {n // 2 + 1} to {n}",
        )


def risk(n: int, m: int, forget: Fraction, down: Fraction) -> QuorumRisk:
    """The exact probabilities of one quorum."""
    check_quorum(n, m)
    overlap = 2 * m - n
    return QuorumRisk(
        n=n,
        m=m,
        overlap=overlap,
        violation=at_least(overlap, m, forget),
        given_pair=forget**overlap,
        all_held=at_least(m, n, forget),
        unavailable=at_least(n - m + 1, n, down),
    )


def over_m(n: int, forget: Fraction, down: Fraction, most: int = 64) -> list[QuorumRisk]:
    """Every quorum size of n coordinators; an even selection if there are very many."""
    check_quorum(n)
    least = n // 2 + 1
    count = min(most, n - least + 1)
    chosen = sorted({least + round(step * (n - least) / max(1, count - 1)) for step in range(count)})
    return [risk(n, m, forget, down) for m in chosen]


def smallest_m(n: int, forget: Fraction, want: Fraction) -> int | None:
    """The smallest quorum whose P_v is not above the wanted one; None if even m = n fails.

    One more member raises the overlap by two and the number of members that forget by at most one, so P_v falls
    with m, and bisection finds the size.
    """
    check_quorum(n)
    low, high = n // 2 + 1, n
    if at_least(n, n, forget) > want:
        return None
    while low < high:
        middle = (low + high) // 2
        if at_least(2 * middle - n, middle, forget) <= want:
            high = middle
        else:
            low = middle + 1
    return low


def derivation(found: QuorumRisk, forget: str, down: str) -> list[str]:
    """The formula in words, with the numbers of this quorum. `forget` and `down` are printed as the user wrote them."""
    n, m, k = found.n, found.m, found.overlap
    return [
        f"Somebody is inside with the permissions of {m} of the {n} coordinators. A second one needs {m} too: "
        f"{n - m} never permitted the first, so {m} − {n - m} = 2m − n = {k} more, the least that two quorums of {m} "
        f"among {n} share.",
        f"It gets them if at least {k} of the {m} forget that they permitted: each restarts without memory with "
        f"probability P = {forget} during the stay, independently of the others.",
        f"Exactly k of {m} forget with probability C({m},k) · P^k · (1−P)^({m}−k). Any k from {k} to {m} will do, so "
        f"P_v is the sum over them: {scientific(found.violation, 3)}.",
        f"P_v counts every second quorum that could form. For one given quorum that shares {k} with the first it is "
        f"P^{k} = {scientific(found.given_pair, 3)}. Where the first asked alone it holds all {n} permissions, and "
        f"{m} of {n} must forget: {scientific(found.all_held, 3)}.",
        f"A quorum is up unless {n - m + 1} or more of {n} are down, each with probability {down}: "
        f"available {plain(found.available)}.",
    ]
