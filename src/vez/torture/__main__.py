"""The nursery process: reads lines of WORKER SEED, forks a worker for each, answers with its process number.

python -m vez.torture FOLDER URL NAME SECONDS
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

from vez.errors import VezError
from vez.torture.worker import work


def main(folder: str, url: str, name: str, seconds: str) -> None:
    """Fork a worker for each line."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the workers, so the kernel must not keep zombies
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        worker, seed = line.split()
        pid = os.fork()
        if pid == 0:
            try:
                work(Path(folder), int(worker), seed, url, name, float(seconds))
            except VezError as error:  # the campaign reports the rest
                print(f"worker {worker}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
