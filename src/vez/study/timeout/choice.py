"""The timeout with the smallest expected cost.

E is the cost of each millisecond of waiting, C the cost of a mistake (suspecting a slow process), and p(t) the
probability of that mistake with timeout t. The expected cost is

    cost(t) = E·t + C·p(t)

Camargos, Coordenação, "Lidando com Falhas", asks for a reasonable timeout and gives the rule C·p < E: mistakes cost
less than more waiting would. For one millisecond the rule is an upper bound: one more millisecond saves at most all
mistakes, C·p(t), and costs E. The cost is smallest where the next millisecond saves exactly what it costs:
C·(p(t) − p(t+dt)) = E·dt. That is never beyond C/E, where waiting alone costs as much as a certain mistake.
"""

from __future__ import annotations

import math

import msgspec

from vez.errors import Misuse
from vez.study.timeout.silence import Samples, Silence

CURVE_POINTS = 400
HALVINGS = 200


class TimeoutChoice(msgspec.Struct, frozen=True):
    """The best timeout, with the numbers behind it."""

    wait_cost_per_ms: float
    mistake_cost: float
    source: str
    timeout_ms: float
    mistake_chance: float
    """p(t) at the best timeout."""
    wait_cost: float
    """E·t."""
    expected_mistake_cost: float
    """C·p."""
    cost: float
    next_ms_saves: float
    """Mistake cost that one more millisecond would save. It would cost E."""
    rule_ms: float
    """From this timeout on C·p < E, so waiting longer cannot pay, whatever the distribution."""
    cost_without_waiting: float
    remark: str = ""


def best_timeout(silence: Silence, wait_cost_per_ms: float, mistake_cost: float) -> TimeoutChoice:
    """The timeout with the smallest expected cost; the shortest one if several are equal."""
    check_costs(wait_cost_per_ms, mistake_cost)
    wait, mistake = wait_cost_per_ms, mistake_cost

    def cost(t: float) -> float:
        return wait * t + mistake * silence.late(t)

    candidates = silence.candidates(wait / mistake) if mistake else ()
    best = min((0.0, *candidates), key=lambda t: (cost(t), t))
    chance = silence.late(best)
    return TimeoutChoice(
        wait_cost_per_ms=wait,
        mistake_cost=mistake,
        source=silence.words,
        timeout_ms=best,
        mistake_chance=chance,
        wait_cost=wait * best,
        expected_mistake_cost=mistake * chance,
        cost=cost(best),
        next_ms_saves=mistake * (chance - silence.late(best + 1)),
        rule_ms=rule(silence, wait, mistake),
        cost_without_waiting=cost(0.0),
        remark=_remark(silence, best),
    )


def check_costs(wait_cost_per_ms: float, mistake_cost: float) -> None:
    """Raise `Misuse` for costs with which no timeout is best."""
    if not math.isfinite(wait_cost_per_ms) or wait_cost_per_ms <= 0:
        raise Misuse(
            f"the cost of waiting is {wait_cost_per_ms:g} per ms, expected a number above 0",
            hint="if waiting cost nothing, waiting for ever would be best",
        )
    if not math.isfinite(mistake_cost) or mistake_cost < 0:
        raise Misuse(f"the cost of a mistake is {mistake_cost:g}, expected a number of at least 0")
    if not math.isfinite(mistake_cost / wait_cost_per_ms) or (mistake_cost and not wait_cost_per_ms / mistake_cost):
        raise Misuse("the two costs are too far apart to be compared", hint="measure both in the same money")


def rule(silence: Silence, wait_cost_per_ms: float, mistake_cost: float) -> float:
    """The shortest timeout with C·p < E, by bisection. It exists, because p never rises and falls to 0."""

    def quiet(t: float) -> bool:
        return mistake_cost * silence.late(t) < wait_cost_per_ms

    if quiet(0.0):
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        if quiet(high):
            break
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if quiet(middle) else (middle, high)
    return high


def curve(silence: Silence, choice: TimeoutChoice, points: int = CURVE_POINTS) -> list[tuple[float, float, float]]:
    """(t, E·t, C·p(t)) from 0 to well beyond the best timeout."""
    median = _quantile(silence, 0.5)
    end = max(2.5 * choice.timeout_ms, 1.2 * choice.rule_ms if choice.rule_ms < 6 * choice.timeout_ms else 0, median)
    end = end or 1.0
    found = []
    for step in range(points + 1):
        t = end * step / points
        found.append((t, choice.wait_cost_per_ms * t, choice.mistake_cost * silence.late(t)))
    return found


def in_words(choice: TimeoutChoice) -> list[str]:
    """The reason why this timeout is best, and the rule C·p < E with the numbers filled in."""
    e, c, t = choice.wait_cost_per_ms, choice.mistake_cost, choice.timeout_ms
    waiting = "do not wait at all" if t == 0 else f"wait {_number(t)} ms"
    lines = [
        f"Best: {waiting}; a mistake then has probability p = {_number(choice.mistake_chance)}.",
        f"Expected cost E·t + C·p = {_number(choice.wait_cost)} + {_number(choice.expected_mistake_cost)} "
        f"= {_number(choice.cost)} (without waiting: {_number(choice.cost_without_waiting)}).",
        f"One more millisecond would cost E = {_number(e)} and save {_number(choice.next_ms_saves)} in mistakes.",
    ]
    left = _number(c * choice.mistake_chance)
    if t >= choice.rule_ms:
        lines.append(f"C·p < E holds here: {_number(c)} · {_number(choice.mistake_chance)} = {left} < {_number(e)}.")
    else:
        lines.append(
            f"C·p < E holds from {_number(choice.rule_ms)} ms on. Here C·p = {left} is not below E = {_number(e)}, yet "
            f"one more millisecond removes too few of those mistakes to pay."
        )
    return lines + ([choice.remark] if choice.remark else [])


def _remark(silence: Silence, best: float) -> str:
    if not isinstance(silence, Samples):
        return ""
    count = len(silence.values_ms)
    if best >= silence.values_ms[-1]:
        return (
            f"The best timeout is the largest sample, so p = 0 only says that p is probably below 3/{count:,} = "
            f"{3 / count:.2g}: take more samples, or add a margin."
        )
    return ""


def _quantile(silence: Silence, chance: float) -> float:
    """Approximate t at which p(t) falls below a probability."""
    low, high = 0.0, 1e-6
    while silence.late(high) > chance and high < 1e12:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if silence.late(middle) > chance else (low, middle)
    return high


def _number(value: float) -> str:
    return f"{value:.4g}"
