"""A ring of threads: a message goes round, and each thread makes one lower-case letter upper case, until none is left.

An exercise of Camargos, Concorrência (docs/sources.md)."""

from __future__ import annotations

import queue
import string
import threading
import time
from random import Random

import msgspec

from vez.errors import Misuse


class Lap(msgspec.Struct, frozen=True):
    """Result of a run."""

    sent: str
    received: str
    hops: int
    turned: dict[int, int]
    """How many letters each thread changed, by thread number."""
    seconds: float


def ring(threads: int = 30, letters: int = 80, seed: int = 0) -> Lap:
    """Send a random message round the ring until all its letters are upper case."""
    if threads < 1 or letters < 1:
        raise Misuse(f"a ring needs threads and letters, found {threads} and {letters}")
    chance = Random(seed)
    message = "".join(chance.choice(string.ascii_letters) for _ in range(letters))
    inboxes: list[queue.Queue[tuple[str, int] | None]] = [queue.Queue() for _ in range(threads)]
    done: queue.Queue[tuple[str, int]] = queue.Queue()
    turned = dict.fromkeys(range(1, threads + 1), 0)

    def member(place: int) -> None:
        following = inboxes[(place + 1) % threads]
        while (received := inboxes[place].get()) is not None:
            text, hops = received
            at = next((index for index, letter in enumerate(text) if letter.islower()), None)
            if at is None:
                done.put((text, hops))
                return
            turned[place + 1] += 1
            following.put((text[:at] + text[at].upper() + text[at + 1 :], hops + 1))

    members = [threading.Thread(target=member, args=(place,), daemon=True) for place in range(threads)]
    started = time.perf_counter()
    for thread in members:
        thread.start()
    inboxes[0].put((message, 0))
    text, hops = done.get()
    seconds = time.perf_counter() - started
    for inbox in inboxes:
        inbox.put(None)
    for thread in members:
        thread.join()
    return Lap(message, text, hops, turned, seconds)
