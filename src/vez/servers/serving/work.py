"""Requests that wait and compute for given times: `/WAIT/COMPUTE`, both in milliseconds.

Waiting blocks the thread in the kernel, as a disk or a database does. Computing is a key derivation in C that lets
other threads of Python run, so that two cores can compute two requests at once.
"""

from __future__ import annotations

import hashlib
import re
import time

from vez.servers.serving.service import Answer, Refusal, Request, Service

LONGEST_MS = 10_000
_TARGET = re.compile(r"/(\d{1,5}(?:\.\d{1,3})?)/(\d{1,5}(?:\.\d{1,3})?)")


class Work(Service[tuple[float, float], tuple[float, float]]):
    """Waits and computes."""

    name = "work"

    def __init__(self) -> None:
        self._a_ms = rounds_a_ms()

    def decode(self, request: Request) -> tuple[float, float]:
        """Milliseconds of waiting and of computing."""
        found = _TARGET.fullmatch(request.target)
        if found is None or max(float(found[1]), float(found[2])) > LONGEST_MS:
            raise Refusal(404, f"expected /WAIT/COMPUTE in milliseconds, up to {LONGEST_MS}")
        return float(found[1]), float(found[2])

    def decide(self, question: tuple[float, float]) -> tuple[float, float]:
        """Wait, then compute."""
        wait_ms, compute_ms = question
        if wait_ms:
            time.sleep(wait_ms / 1000)
        if compute_ms:
            compute(max(1, round(compute_ms * self._a_ms)))
        return question

    def answer(self, result: tuple[float, float]) -> Answer:
        """The two times as text."""
        return Answer(body=f"waited {result[0]:g} ms, computed {result[1]:g} ms\n".encode())


def compute(rounds: int) -> None:
    """Compute without holding the interpreter's lock."""
    hashlib.pbkdf2_hmac("sha256", b"vez", b"whose turn is it", rounds)


def rounds_a_ms() -> float:
    """Number of rounds that this machine computes in a millisecond of processor time; the best of three tries."""
    best = 0.0
    for _ in range(3):
        begin = time.thread_time()
        compute(5000)
        best = max(best, 5000 / max(1e-6, (time.thread_time() - begin) * 1000))
    return best
