"""A worker is paused past its turn, and its late write is refused.

    python examples/paused_worker.py

The worker holds the lock and is stopped (SIGSTOP) before it writes. An operator breaks the lock, the next worker
gets in and writes. When the first one goes on it still believes in its turn, for nobody could tell it while it
stood still, and writes: the guard refuses its token.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

import vez
from vez.fence import FileGuard


def work(url: str, ledger: Path, name: str, tell: Connection, hear: Connection) -> None:
    with vez.connect(url) as client, client.lock("ledger") as grant:
        tell.send(grant.token)
        hear.recv()  # the work between reading and writing; the pause strikes here
        try:
            FileGuard(ledger).write(f"written by the {name} worker\n".encode(), grant.token)
            tell.send("written")
        except vez.StaleToken as error:
            tell.send(f"refused: {error.message}")


def main() -> int:
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        url, ledger = f"file://{folder}/turns", Path(folder) / "ledger.txt"
        here, there = Pipe(), Pipe()
        processes = [
            context.Process(target=work, args=(url, ledger, name, pipe[1], pipe[1]))
            for name, pipe in (("first", here), ("second", there))
        ]
        first, second = processes
        first.start()
        print(f"first worker   holds the lock with token {here[0].recv()}")
        os.kill(first.pid or 0, signal.SIGSTOP)
        print("first worker   is paused")
        second.start()
        with vez.connect(url) as client:
            while not client.inspect("ledger").queue:
                pass
            client.break_lock("ledger", "the first worker stands still")
        print(f"second worker  holds the lock with token {there[0].recv()}")
        there[0].send("go on")
        print(f"second worker  {there[0].recv()}")
        os.kill(first.pid or 0, signal.SIGCONT)
        here[0].send("go on")
        verdict = here[0].recv()
        print(f"first worker   goes on; its write is {verdict}")
        for process in processes:
            process.join()
        content = ledger.read_text().strip()
        print(f"the ledger says: {content}")
        return 0 if content == "written by the second worker" and verdict.startswith("refused") else 1


if __name__ == "__main__":
    sys.exit(main())
