"""vez.validate: compares recorded runs with an algorithm; the code is in `vez.judge.validate`."""

from vez.judge.validate import Answer, Finding, Validation, validate

__all__ = ["Answer", "Finding", "Validation", "validate"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
