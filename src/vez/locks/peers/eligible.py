"""Eligible: selects the algorithms that a group of programs can use, and derives their features.

Everything is derived from the declarations of the class. So an algorithm in a user's own file, or of a plug-in, needs
no entry here.
"""

from __future__ import annotations

from vez.core.assumptions import Assumption, Property
from vez.core.process import Election, Mutex, Process
from vez.errors import Misuse


def check_algorithm(name: str, algorithm: type[Process]) -> type[Process]:
    """The class, if programs can take turns by it. Raises `Misuse` with the reason otherwise."""
    if reason := why_not(name, algorithm):
        raise Misuse(reason, hint="`vez algorithms` lists the others")
    return algorithm


def why_not(name: str, algorithm: type[Process]) -> str:
    """Reason why an algorithm cannot be an engine; empty if it can."""
    if not issubclass(algorithm, Mutex | Election):
        return f"{name} is neither a mutual exclusion nor an election algorithm, so it cannot give locks or leaders"
    if name.startswith("zoo:"):
        return f"{name} is one of the plausible mistakes of the zoo"
    if algorithm.wrong:
        return f"{name} is kept although it is wrong: {algorithm.wrong}"
    return ""


def has_tokens(algorithm: type[Process]) -> bool:
    """True if the algorithm is a mutex that hands out fencing tokens."""
    return Property.FENCED_EXCLUSION in algorithm.guarantees


def has_terms(algorithm: type[Process]) -> bool:
    """True if each leader is named with a term of its own, and terms only rise."""
    return issubclass(algorithm, Election) and algorithm.rising_terms


def holds_one_election(algorithm: type[Process]) -> bool:
    """True if a process may be asked for an election only once."""
    return issubclass(algorithm, Election) and algorithm.one_election


def can_resign(algorithm: type[Process]) -> bool:
    """True if a process may crash and recover at any time. Then a leader resigns in this way, and nobody needs to
    notice."""
    forbids = {Assumption.NO_CRASHES, Assumption.NO_RECOVERY, Assumption.PERFECT_DETECTOR}
    return issubclass(algorithm, Election) and not forbids & set(algorithm.assumes)
