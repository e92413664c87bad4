"""All errors of vez: one base class, and subclasses that say who is at fault.

Each error says what was expected and what was found; `hint` says what to do next. `exit_code` is the sysexits code with
which the command line ends.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to load than this module
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = [
    "AlreadyHeld",
    "BadData",
    "BadDeclaration",
    "BadHandler",
    "BrokenPlugin",
    "CannotWrite",
    "CorruptState",
    "Deadlock",
    "EngineUnavailable",
    "HandlerFailed",
    "LockTimeout",
    "MissingFile",
    "MissingPart",
    "Misuse",
    "MutableField",
    "NotDeterministic",
    "OwnershipLost",
    "PeerViolation",
    "ProtocolBug",
    "ReliableNotKept",
    "StaleToken",
    "UnhandledMessage",
    "UnknownName",
    "VezError",
    "WorkerDied",
]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)


CLOSE = 0.65
"""Similarity, as difflib counts it, from which a name is offered: `smi` and `sim` have 0.67. A lower limit would be
guessing."""
LEAST_PART = 3
"""Shortest typed name for which longer names that contain it are offered: `ricart` for `ricart-agrawala`."""


def is_near(typed: str, name: str) -> bool:
    """True if `name` may be what the user meant when typing `typed`."""
    from difflib import get_close_matches  # here: nodes never need it, and each would keep it in memory

    return bool(get_close_matches(typed.lstrip("-"), [name.lstrip("-")], cutoff=CLOSE))


class VezError(Exception):
    """The base of all errors that vez raises on purpose."""

    exit_code = 70  # EX_SOFTWARE
    definite = True
    """True if the outcome is known: nothing was done, or everything was undone."""

    def __init__(self, message: str, *, hint: str = "", definite: bool | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if definite is not None:
            self.definite = definite

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} ({self.hint})" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by the constructor, which a subclass may have changed. Worker processes send their errors by pickle.
        return _revive, (type(self), self.args, self.__dict__)

    @property
    def message(self) -> str:
        """The error without its hint."""
        return super().__str__()


def _revive(kind: type[VezError], arguments: tuple[Any, ...], state: dict[str, Any]) -> VezError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments  # an OSError among the bases would otherwise wait for its own constructor
    error.__dict__.update(state)
    return error


class Misuse(VezError):
    """The caller asked for something impossible: an unknown name, a number out of range."""

    exit_code = 64  # EX_USAGE


LONGEST_SHOWN = 200
"""Largest number of characters of a name or path in an error."""


class UnknownName(Misuse):
    """A name that does not exist. The hint suggests similar names, or lists all names."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        from difflib import get_close_matches

        names = sorted(known)
        longer = [known for known in names if len(name) >= LEAST_PART and name in known]
        near = list(dict.fromkeys([*get_close_matches(name, names, n=3, cutoff=CLOSE), *longer]))[:3]
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
        shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"
        super().__init__(f"unknown {what} {shown!r}", hint=hint)
        self.near = near


class BadData(VezError):
    """A file or a value from outside does not have the promised form."""

    exit_code = 65  # EX_DATAERR


class MissingFile(VezError):
    """A file cannot be read, or does not exist."""

    exit_code = 66  # EX_NOINPUT


class MissingPart(VezError):
    """An optional part of vez is needed and not installed."""

    exit_code = 69  # EX_UNAVAILABLE


def how_to_install(extra: str) -> str:
    """The hint for a `MissingPart` that an extra of vez installs."""
    return f"pip install 'vez[{extra}]', or '.[{extra}]' in a clone"


class BrokenPlugin(VezError):
    """A plug-in, which is an engine or an algorithm of another package, cannot be loaded or is not valid."""

    exit_code = 69  # EX_UNAVAILABLE


class CannotWrite(VezError):
    """A file cannot be written."""

    exit_code = 73  # EX_CANTCREAT


class WorkerDied(VezError):
    """A worker process ended before it returned its result."""

    exit_code = 71  # EX_OSERR


class ProtocolBug(VezError):
    """An algorithm breaks a rule of `vez.core`; the results of the run cannot be trusted."""

    exit_code = 65
    trace: Any = None
    """The run up to the mistake, a `vez.core.trace.Trace`, if the run was recorded."""


class HandlerFailed(ProtocolBug):
    """A handler raised an exception; the message names its file and line."""


class BadDeclaration(ProtocolBug):
    """A class declares an invalid topology, guarantee or field."""


class MutableField(ProtocolBug):
    """A field of a Process or Message has a type that can change in place."""


class UnhandledMessage(ProtocolBug):
    """A message arrived for which the process has no handler."""


class BadHandler(ProtocolBug):
    """A handler has a name or a signature for which it would never be called."""


class NotDeterministic(ProtocolBug):
    """A handler behaved differently in the same state with the same event."""


class AlreadyHeld(Misuse):
    """The caller asked for a name that it already holds. It would have waited for itself for ever."""


class EngineUnavailable(VezError):
    """The engine cannot work: no such directory, a network file system, an unreachable server, another system."""

    exit_code = 69  # EX_UNAVAILABLE


class CorruptState(BadData):
    """The engine's stored state is damaged. Nothing is granted from it, since a token could be issued twice."""


class LockTimeout(VezError, TimeoutError):
    """Not granted within the timeout. Definite: the request has left the queue and holds nothing."""

    exit_code = 75  # EX_TEMPFAIL


class Deadlock(VezError):
    """This wait would close a cycle of holders that wait for each other, so the request was refused."""

    exit_code = 75

    def __init__(self, message: str, *, cycle: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.cycle = cycle
        """The participants of the cycle, one line each: what it holds and what it waits for."""


class OwnershipLost(VezError):
    """The lock or leadership was lost: broken by force, deposed, or no longer provable."""

    exit_code = 76  # EX_PROTOCOL


class PeerViolation(VezError):
    """Another node sent something that the protocol forbids, or is not allowed to connect. Only its connection is
    closed."""

    exit_code = 76


class ReliableNotKept(VezError):
    """A node cannot keep the promise that every message to a live process arrives, so it ends the run."""

    exit_code = 76


class StaleToken(VezError):
    """The protected resource has seen a newer token, so it refused this write."""

    exit_code = 76


def article(word: str) -> str:
    """A word with its article: `a Reply`, `an Election`."""
    return f"an {word}" if word[:1] in "AEIOaeio" else f"a {word}"
