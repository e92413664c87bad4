"""A guard in memory: for a server that holds the protected resource itself."""

from __future__ import annotations

import threading

from vez.errors import Misuse, StaleToken


def check_token(token: object) -> int:
    """The token, if it is a whole number above 0; `Misuse` for other values, which would compare wrongly. None is the
    token of a grant whose engine has no fencing: to accept it would protect nothing."""
    if token is None:
        raise Misuse(
            "the token is None: the engine of this grant gives no fencing, as peers: for example",
            hint="use an engine whose client.engine.traits.token is not None, as file: for example",
        )
    if not isinstance(token, int) or isinstance(token, bool) or not 0 < token < 2**63:
        raise Misuse(f"a token is a whole number above 0, found {token!r}", hint="pass grant.token")
    return token


_counting = threading.Lock()
_refused = 0


def refusals() -> int:
    """Number of stale tokens that the guards of this process have refused."""
    return _refused


def stale(resource: str, token: int, newest: int | None) -> StaleToken:
    """Create the error that all guards raise, and count it."""
    global _refused
    with _counting:
        _refused += 1
    seen = "a newer one" if newest is None else f"token {newest}"
    return StaleToken(
        f"{resource!r} refused token {token}: it has seen {seen}",
        hint="this holder has lost its lock; acquire it again and start over",
    )


class MemoryGuard:
    """Keeps the highest token of each resource, in this process. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: dict[str, int] = {}

    def admit(self, resource: str, token: int | None) -> None:
        """Accept this token, and refuse lower ones from now on. Raises `StaleToken` if it is stale itself."""
        number = check_token(token)
        with self._lock:
            newest = self._newest.get(resource, 0)
            if number < newest:
                raise stale(resource, number, newest)
            self._newest[resource] = number

    def newest(self, resource: str) -> int:
        """The highest token seen; 0 before the first."""
        return self._newest.get(resource, 0)
