"""vez.testing: the contract as a suite that any engine can run, and fixtures for programs that use vez.

For an engine: subclass `vez.testing.conformance.Conformance` in a test file and give it a `url` fixture. For a
program: the fixtures of `vez.testing.plugin` (loaded by pytest by itself) hand out clients of a `memory:` engine
whose locks can be lost, and leaders deposed, on demand.
"""

from vez.testing.actors import Actor, AsyncActor, SyncActor, eventually

__all__ = ["Actor", "AsyncActor", "SyncActor", "eventually"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
