"""Validation of recorded runs: the handlers are the specification.

A trace says what happened to each process and what it did. Here the state of each process is rebuilt from its events
alone, by running the algorithm's own handlers, and what they do is compared with what the trace holds. The first step
that the algorithm could not have taken is named.
"""

from vez.validate.validation import Answer, Finding, Validation, validate

__all__ = ["Answer", "Finding", "Validation", "validate"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
