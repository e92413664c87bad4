"""Program: shared objects, the threads that use them, and the claims to check."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

import msgspec

from vez.errors import BadDeclaration
from vez.threads.operations import Operation

Steps = Generator[Operation, Any, None]
Body = Callable[[], Steps]


class Program(msgspec.Struct, frozen=True):
    """Shared objects, the threads that use them, and the claims to check."""

    shared: Mapping[str, Any]
    """Locks, conditions, queues and other kinds; any other value is the initial value of a variable."""
    threads: Mapping[str, Body]
    claim: str = ""
    """The claim of `at_end`, in words."""
    at_end: Callable[[Mapping[str, Any]], bool] | None = None
    always: Callable[[Mapping[str, Any]], bool] | None = None
    """A condition that must be true in every state; `invariant` is its description."""
    invariant: str = ""
    later: frozenset[str] = frozenset()
    """Threads that do not run until another thread does `start(name)`."""
    daemons: frozenset[str] = frozenset()
    """Daemon threads: the program ends when all other threads have ended."""

    def __post_init__(self) -> None:
        for what, given in (("shared", self.shared), ("threads", self.threads)):
            if not isinstance(given, Mapping):
                raise BadDeclaration(
                    f"Program: {what} is a {type(given).__name__}, expected a mapping from names",
                    hint="Program(shared, threads)",
                )
        for name, body in self.threads.items():
            if not callable(body):
                raise BadDeclaration(
                    f"Program: thread {name!r} is {body!r}, expected a function that yields operations",
                    hint="Program(shared, threads), in this order",
                )
        for what, claim in (("at_end", self.at_end), ("always", self.always)):
            if claim is not None and not callable(claim):
                raise BadDeclaration(
                    f"Program: {what} is {claim!r}, expected a function", hint="lambda memory: memory['x'] == 2"
                )
        for what, names in (("later", self.later), ("daemons", self.daemons)):
            if unknown := sorted(set(names) - set(self.threads)):
                raise BadDeclaration(
                    f"Program: {what} names {', '.join(unknown)}, and there is no such thread",
                    hint=f"threads: {', '.join(self.threads)}",
                )
