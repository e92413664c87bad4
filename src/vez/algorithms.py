"""vez.algorithms: the textbook algorithms by name; the code is in `vez.catalogue`."""

from vez.catalogue.algorithms import ALGORITHMS, find

__all__ = ["ALGORITHMS", "find"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
