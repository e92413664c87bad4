"""The process of a fork server: forks a worker, or a child for a job, for each order that comes through standard input.

python -m vez.testing.torture FOLDER URL NAME SECONDS
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import traceback
from pathlib import Path

import msgspec

from vez.errors import VezError
from vez.testing.torture import inner_faults
from vez.testing.torture.fork_server import LONGEST, Order
from vez.testing.torture.jobs import run
from vez.testing.torture.worker import work


def main(folder: str, url: str, name: str, seconds: str) -> None:
    """Fork a child for each order."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # without a wait for the workers, the kernel must not keep zombies
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inner_faults.prepare()
    connection = socket.socket(fileno=os.dup(0))
    while raw := connection.recv(LONGEST):
        order = msgspec.json.decode(raw, type=Order)
        held, let_go = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(let_go)
            os.read(held, 1)  # wait until the process can be watched
            os.close(held)
            os._exit(_child(order, connection, Path(folder), url, name, float(seconds)))
        if order.what == "work":
            watched = os.pidfd_open(pid)
            socket.send_fds(connection, [b"started"], [watched])
            os.close(watched)
        os.close(held)
        os.close(let_go)


def _child(order: Order, connection: socket.socket, folder: Path, url: str, name: str, seconds: float) -> int:
    try:
        if order.what == "work":
            connection.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            work(folder, order.worker, order.seed, url, name, seconds)
        else:
            connection.send(msgspec.json.encode(run(order, folder, url, name)))
    except VezError as error:  # the campaign reports the rest
        print(f"worker {order.worker}: {error}", file=sys.stderr, flush=True)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
