"""Limits of a node: sizes, depths, rates and times. Each bounds the cost that one peer can cause."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one node. Tests make them small."""

    frame_bytes: int = 1 << 20
    """Largest frame. Messages of the catalogue have tens of bytes; a token with its queue at n = 1000 has 10 KiB."""
    hello_bytes: int = 1 << 16
    """Largest frame of the handshake, which strangers may send too. Ten thousand identifiers fit."""
    depth: int = 30
    """Levels of a message whose type contains itself; the same as traces allow."""
    frames_a_turn: int = 256
    """Frames of one connection that are handled before others get their turn: some milliseconds."""
    frames_a_second: int = 100_000
    """Frames of one connection; more are read later. A pair of nodes does about 20,000 on one core."""
    kept_messages: int = 10_000
    """Messages that wait for an acknowledgement, for each link."""
    kept_bytes: int = 16 << 20
    """Bytes that wait for an acknowledgement, for each link."""
    handshake_s: float = 5.0
    """Time to finish a handshake. A peer that sends too slowly is cut off."""
    strangers: int = 64
    """Connections in the handshake at one time, beyond those of the members."""
    silence_s: float = 9.0
    """A connection on which nothing arrived for this time is closed: the other host may be gone."""
    keepalive_s: float = 3.0
    """Time after which a frame is sent even if there is no message."""
    acknowledge_s: float = 0.02
    """Longest time until a message is acknowledged; sooner after `acknowledge_messages`."""
    acknowledge_messages: int = 64
    backoff_s: float = 0.05
    """Wait after the first failed attempt to connect. It doubles, up to `backoff_most_s`, with jitter."""
    backoff_most_s: float = 2.0


class Bucket:
    """A token bucket. `take` returns the time to wait. The caller passes the time, so that tests need no clock."""

    __slots__ = ("_at", "_level", "_rate")

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._level = rate  # a burst of one second is free
        self._at = now

    def take(self, count: int, now: float) -> float:
        """Take `count` tokens. Returns the seconds to wait until they are available, 0 if they are."""
        self._level = min(self._rate, self._level + (now - self._at) * self._rate) - count
        self._at = now
        return max(0.0, -self._level / self._rate)
