"""Exact probabilities as rationals, so that 4·10⁻⁴⁴ is neither 0 nor a rounding error."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import comb, floor, log10

from vez.errors import BadData

MAX_TEXT = 60
MAX_DIGITS = 100
"""Largest number of digits of a denominator: sums of a thousand powers of it must stay fast."""
LEAST = f"1e-{MAX_DIGITS - 1}"
"""The smallest probability above 0 with this many digits."""
MAX_POWER = MAX_DIGITS + 2 * MAX_TEXT
"""Largest exponent accepted: beyond it no mantissa or divisor gives a probability within bounds."""
_FORM = re.compile(r"^\s*(-?)(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?\s*(?:/\s*(\d+(?:\.\d*)?)\s*)?$", re.IGNORECASE)


def parse_chance(text: str, what: str = "probability") -> Fraction:
    """Parse a probability exactly: `0.0001`, `1e-4` or `3/3600`."""
    hint = "write it as 0.0001, 1e-4 or 3/3600"
    if len(text) > MAX_TEXT:
        raise BadData(f"{what} {text[:MAX_TEXT]!r}… is longer than {MAX_TEXT} characters", hint=hint)
    found = _FORM.match(text)
    if found is None:
        raise BadData(f"{what} {text!r} is not a number", hint=hint)
    sign, number, exponent, divisor = found.groups()
    if sign and Decimal(number):
        raise BadData(f"{what} {text!r} is below 0", hint=hint)
    power = int(exponent or 0)
    if abs(power) > MAX_POWER and Decimal(number):
        size = f"too small: less than {LEAST}" if power < 0 else "above 1"
        raise BadData(f"{what} {text!r} is {size}", hint=hint if power > 0 else "0 stands for never")
    value = Fraction(Decimal(number)) * Fraction(10) ** (power if Decimal(number) else 0)
    if divisor is not None:
        if not Decimal(divisor):
            raise BadData(f"{what} {text!r} divides by zero", hint=hint)
        value /= Fraction(Decimal(divisor))
    if value > 1:
        raise BadData(f"{what} {text!r} is above 1", hint=hint)
    if 0 < value < Fraction(LEAST):
        raise BadData(f"{what} {text!r} is too small: less than {LEAST}", hint="0 stands for never")
    if len(str(value.denominator)) > MAX_DIGITS:
        raise BadData(f"{what} {text!r} has more than {MAX_DIGITS} digits", hint="round it")
    return value


def at_least(least: int, trials: int, chance: Fraction) -> Fraction:
    """Probability of at least this many successes in independent trials."""
    if least <= 0:
        return Fraction(1)
    if least > trials or chance == 0:
        return Fraction(0)
    success, failure = chance.numerator, chance.denominator - chance.numerator
    if failure == 0:
        return Fraction(1)
    term = comb(trials, least) * success**least * failure ** (trials - least)
    total = term
    for k in range(least, trials):
        # From C(n,k) s^k f^(n-k) to the next term. The division is exact: both terms are integers.
        term = term * ((trials - k) * success) // ((k + 1) * failure)
        total += term
    return Fraction(total, chance.denominator**trials)


def scientific(value: Fraction, digits: int = 2) -> str:
    """A few digits and a power of ten, by integer arithmetic: `4.0e-44`. Only 0 prints as 0."""
    if value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    exponent = _exponent(value)
    scaled = round(value / Fraction(10) ** (exponent - digits + 1))
    if scaled >= 10**digits:  # 9.96 rounds to 10.0
        scaled, exponent = scaled // 10, exponent + 1
    text = str(scaled)
    mantissa = f"{text[0]}.{text[1:]}" if digits > 1 else text
    return f"{sign}{mantissa}" if exponent == 0 else f"{sign}{mantissa}e{exponent}"


def plain(value: Fraction) -> str:
    """Readable form: `0.25` if that is short and close, scientific if small, `1` only for 1."""
    if value == 1 or value == 0:
        return str(value.numerator)
    if Fraction(1, 1000) <= value <= Fraction(999, 1000):
        return f"{float(value):.4g}"
    if value > Fraction(1, 2) and value < 1:
        return f"1 − {scientific(1 - value)}"
    return scientific(value)


def _exponent(value: Fraction) -> int:
    """Exponent of ten of the first digit."""
    guess = floor(log10(value.numerator) - log10(value.denominator))  # may be off by one next to a power of ten
    if value >= Fraction(10) ** (guess + 1):
        return guess + 1
    return guess if value >= Fraction(10) ** guess else guess - 1
