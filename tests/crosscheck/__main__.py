"""`python -m tests.crosscheck [COUNT] [FIRST]`: compare so many random protocols; `make crosscheck` runs it.

Each number decides a protocol and its faults, so a difference can be looked at again: `python -m tests.crosscheck 1 N`.
"""

from __future__ import annotations

import sys
import time

from tests.crosscheck.compare import difference, drawn, opinions
from tests.crosscheck.simulated import violations

RUNS = 100
"""Simulated runs of each protocol."""


def main() -> int:
    """Compare, say what differs, and count."""
    count, first = ([int(word) for word in sys.argv[1:3]] + [2000, 0][len(sys.argv) - 1 :])[:2]
    began, compared, large, found = time.monotonic(), 0, 0, 0
    for number in range(first, first + count):
        case = drawn(number)
        both = opinions(case.configuration())
        if both is None:
            large += 1
            continue
        compared += 1
        words = difference(*both)
        missed = violations(case, RUNS).keys() - {str(name) for name in both[0].broken}
        if missed:
            words = f"{words}; simulated runs break {', '.join(sorted(missed))}, and the checker does not"
        if words:
            found += 1
            print(f"{number}: {words.removeprefix('; ')}\n   {case}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{number + 1 - first} of {count}, {found} differ", end="", file=sys.stderr, flush=True)
    print(f"{compared} protocols compared, {large} too large, {found} differ, {time.monotonic() - began:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
