"""Requests to an engine, and the checks of their arguments, which sync and async clients share."""

from __future__ import annotations

import os
import sys
from enum import Enum
from functools import lru_cache
from typing import get_args

from vez.errors import Misuse
from vez.locks.engines.base import MAX_GRACE_MS, MAX_LABEL, Kind, Progress, Request
from vez.locks.engines.machine import host_name
from vez.locks.engines.names import check_name
from vez.locks.turns.decorate import is_coroutine_function


class OwnTimeout(Enum):
    """Default of `acquire`: the timeout that was given when the lock object was made. None would mean no limit."""

    OWN = "own"

    def __repr__(self) -> str:
        return "the timeout of the lock"


OWN_TIMEOUT = OwnTimeout.OWN
MAX_LIMIT = 1000
"""Largest limit of a semaphore; the file engine counts permits one by one."""
MAX_LEASE = 86400
"""Longest lease in seconds: a day. A silent holder keeps its lock for the whole lease."""
LONGEST_TIMEOUT = 3e9
"""Longest timeout in seconds, about a century; a longer one means no limit. The waits of operating systems and of
Python refuse large numbers, each above a different bound (threads above 9e9 seconds), so such timeouts do not reach an
engine."""
MAX_REASON = 1000
"""Largest reason of a forced release, in characters."""


def lock_request(name: str, shared: bool, label: str | None, grace: float, lease_ms: int | None) -> Request:
    """A request for a lock, exclusive or shared."""
    try:
        return _known_lock_request(name, shared, label, grace, lease_ms)
    except TypeError:  # an argument that cannot be hashed has a wrong type, and the checks name it
        return _lock_request(name, bool(shared), label, grace, lease_ms)


def _lock_request(name: str, shared: bool, label: str | None, grace: float, lease_ms: int | None) -> Request:
    return Request(check_name(name), "lock", shared, 1, 0, _grace(grace), _label(label), lease_ms)


_known_lock_request = lru_cache(maxsize=4096)(_lock_request)


def semaphore_request(
    name: str, limit: int, *, label: str | None, grace: float, lease_ms: int | None = None
) -> Request:
    """A request for a permit of a semaphore."""
    if not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise Misuse(f"a semaphore's limit is a number from 1 to {MAX_LIMIT}, found {limit!r}")
    return Request(check_name(name), "semaphore", False, limit, 0, _grace(grace), _label(label), lease_ms)


def election_request(
    name: str, weight: int, *, label: str | None, grace: float, lease_ms: int | None = None
) -> Request:
    """A request to stand in an election."""
    if not isinstance(weight, int) or abs(weight) >= 2**31:
        raise Misuse(f"a weight is a whole number of at most 31 bits, found {weight!r}")
    return Request(check_name(name), "election", False, 1, weight, _grace(grace), _label(label), lease_ms)


def check_timeout(timeout: float | None) -> float | None:
    """The checked timeout in seconds, or None for no limit."""
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not timeout >= 0:
        hint = "None waits without limit; try_acquire() does not wait"
        raise Misuse(f"a timeout is a number of seconds, 0 or more, found {timeout!r}", hint=hint)
    return timeout if timeout <= LONGEST_TIMEOUT else None


def check_lease(lease: float | None) -> int | None:
    """A lease in milliseconds; None for the engine's default. Engines of one machine have no leases and ignore it: the
    kernel frees the locks of the dead at once."""
    if lease is None:
        return None
    if not isinstance(lease, int | float) or not 0 < lease <= MAX_LEASE:
        raise Misuse(f"a lease is a number of seconds above 0, at most {MAX_LEASE}, found {lease!r}")
    return max(1, round(lease * 1000))


def _grace(seconds: float) -> int:
    if not isinstance(seconds, int | float) or not 0 <= seconds <= MAX_GRACE_MS / 1000:
        raise Misuse(f"a grace is a number of seconds from 0 to {MAX_GRACE_MS // 1000}, found {seconds!r}")
    return int(seconds * 1000)


def _label(label: str | None) -> str:
    """The checked label. It is printed on the terminals of others, so control characters are replaced."""
    if label is None:
        return _program
    if not isinstance(label, str) or len(label.encode(errors="replace")) > MAX_LABEL:
        raise Misuse(f"a label is a text of at most {MAX_LABEL} bytes, found {label!r}", hint="shorten it")
    return _harmless(label)


def default_label() -> str:
    """Host and process number; a long host name is cut."""
    process = f":{os.getpid()}"
    return host_name()[: MAX_LABEL - len(process)] + process


def check_reason(reason: str) -> str:
    """The reason of a forced release, which is recorded and printed on the terminals of others."""
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise Misuse(f"a reason is a text of at most {MAX_REASON} characters, found {reason!r:.60}")
    return _harmless(reason)


def check_kind(kind: Kind) -> Kind:
    """The kind, if it is one of the three; else `Misuse`."""
    if kind not in get_args(Kind):
        raise Misuse(f"there is no kind {kind!r}", hint=f"one of {', '.join(get_args(Kind))}")
    return kind


def check_prefix(prefix: str) -> str:
    """The checked prefix of names; it need not be a valid name itself."""
    if not isinstance(prefix, str):
        raise Misuse(f"a prefix is a text, found {prefix!r:.60}", hint="'' stands for all names")
    return prefix


def check_progress(progress: Progress | None) -> Progress | None:
    """The callback for waits, if it can be called; else `Misuse`."""
    if progress is not None and (not callable(progress) or is_coroutine_function(progress)):
        raise Misuse(f"on_wait is a function, called with the place in the queue, found {progress!r}")
    return progress


def _harmless(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _program_name() -> str:
    """The default label: the program's name; a long one is cut."""
    name = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c", "-m") else "python"
    return _harmless(name).encode(errors="replace")[:MAX_LABEL].decode(errors="ignore")


_program = _program_name()
