"""A guard in Redis: a script that compares the token and writes the value atomically."""

from __future__ import annotations

from typing import Any, Protocol

from vez.errors import Misuse
from vez.locks.fence.memory import check_token, stale

_PREFIX = "vez:fence:"
_EXACT = 2**53
"""Redis compares numbers as doubles, exact below this; tokens of vez stay far below."""

WRITE = """
local newest = tonumber(redis.call('GET', KEYS[2]) or '0')
if tonumber(ARGV[2]) < newest then
  return newest
end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], ARGV[1])
return 0
"""
"""KEYS: the value's key, the fence's key. ARGV: the value, the token. Returns 0, or the newest token if stale."""


class Evaluator(Protocol):
    """The methods of a Redis client that are used."""

    def eval(self, script: str, numkeys: int, *keys_and_args: Any) -> Any:
        """Run a script."""

    def get(self, name: str) -> Any:
        """Read a key."""


class RedisGuard:
    """Guarded writes of string values. On a cluster use a hash tag in the key, so that both keys share a slot."""

    def __init__(self, client: Evaluator) -> None:
        self.client = client

    def set(self, key: str, value: bytes | str, token: int | None) -> None:
        """Write the value, or raise `StaleToken`."""
        number = check_token(token)
        if number >= _EXACT:
            raise Misuse(f"Redis can compare tokens up to {_EXACT - 1}, found {number}")
        newest = int(self.client.eval(WRITE, 2, key, _PREFIX + key, value, str(number)))
        if newest:
            raise stale(key, number, newest)

    def newest(self, key: str) -> int:
        """The highest token seen; 0 before the first."""
        return int(self.client.get(_PREFIX + key) or 0)
