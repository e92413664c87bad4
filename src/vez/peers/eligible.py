"""Eligible: which algorithms a group of programs can use, and what an engine on one of them can do.

Everything is derived from what the class declares, so that an algorithm in a user's own file, or of a plug-in, needs no
list here.
"""

from __future__ import annotations

from vez.core.assumptions import Assumption, Property
from vez.core.process import Election, Mutex, Process
from vez.errors import Misuse


def check_algorithm(name: str, algorithm: type[Process]) -> type[Process]:
    """The class, if programs can take turns by it; else `Misuse` with the reason."""
    if reason := why_not(name, algorithm):
        raise Misuse(reason, hint="`vez algorithms` lists the others")
    return algorithm


def why_not(name: str, algorithm: type[Process]) -> str:
    """Why an algorithm cannot be an engine; empty if it can."""
    if not issubclass(algorithm, Mutex | Election):
        return f"{name} is neither a mutual exclusion nor an election algorithm, so it cannot give locks or leaders"
    if name.startswith("zoo:"):
        return f"{name} is one of the plausible mistakes of the zoo"
    if algorithm.wrong:
        return f"{name} is kept although it is wrong: {algorithm.wrong}"
    return ""


def has_tokens(algorithm: type[Process]) -> bool:
    """True if a mutex hands out fencing tokens."""
    return Property.FENCED_EXCLUSION in algorithm.guarantees


def has_terms(algorithm: type[Process]) -> bool:
    """True if leaders are named with terms that only rise, one leader each."""
    return issubclass(algorithm, Election) and algorithm.rising_terms


def holds_one_election(algorithm: type[Process]) -> bool:
    """True if a process may be asked for an election only once."""
    return issubclass(algorithm, Election) and algorithm.one_election


def can_resign(algorithm: type[Process]) -> bool:
    """True if a process may crash and come back at any time: a leader resigns so, and nobody needs to notice."""
    forbids = {Assumption.NO_CRASHES, Assumption.NO_RECOVERY, Assumption.PERFECT_DETECTOR}
    return issubclass(algorithm, Election) and not forbids & set(algorithm.assumes)
