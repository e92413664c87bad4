"""A worker of the demo: a real process that takes turns, or that stands for election.

python -m vez.cli.demo.worker turns|leads FOLDER WORKER URL SECONDS
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from vez.locks.engines.base import Place
from vez.locks.turns.client import Client, connect
from vez.testing.torture.record import Recorder, Register

INSIDE_S = 0.12
PAUSE_S = 0.05


def take_turns(client: Client, folder: Path, worker: int, until: float) -> None:
    """Repeat: acquire the lock, read and write the shared number, release."""
    recorder, register = Recorder(folder / f"{worker}.jsonl", worker), Register(folder / "register")
    waits = False

    def queued(place: Place) -> None:
        """Record the first report of a wait: from now on nobody who asks later may be granted before this worker."""
        nonlocal waits
        if not waits:
            waits = True
            recorder.say("queued")

    lock = client.lock("demo", on_wait=queued)
    while time.monotonic() < until and not (folder / "stop").exists():
        recorder.say("wanted")
        waits = False
        with lock as grant:
            recorder.say("entered", token=grant.token)
            value = register.read()
            time.sleep(INSIDE_S)
            accepted = register.write(value + 1, grant.token)
            recorder.say("wrote", token=grant.token, value=value + 1, accepted=accepted)
            recorder.say("left", token=grant.token)
        time.sleep(PAUSE_S)


def lead(client: Client, folder: Path, worker: int, until: float) -> None:
    """Stand for election, and lead until stopped or killed."""
    recorder = Recorder(folder / f"{worker}.jsonl", worker)
    recorder.say("wanted")
    with client.election("demo", label=f"worker {worker}") as leadership:
        recorder.say("entered", token=leadership.term)
        while time.monotonic() < until and not (folder / "stop").exists():
            time.sleep(0.01)


def main() -> None:
    """Run one worker."""
    what, folder, worker, url, seconds = sys.argv[1:]
    with connect(url) as client:
        work = take_turns if what == "turns" else lead
        work(client, Path(folder), int(worker), time.monotonic() + float(seconds))


if __name__ == "__main__":
    main()
