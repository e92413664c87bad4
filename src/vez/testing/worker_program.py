"""The program of a worker process: it reads one order per line, and answers each with a line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from vez.errors import OwnershipLost, VezError
from vez.locks.turns.client import Client, Grant, connect


def say(*words: object) -> None:
    """Write an answer."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def acquire(client: Client, name: str, *options: str) -> Grant:
    """Acquire a lock, a permit or a leadership, as the options say."""
    settings = dict(option.split("=") for option in options)
    timeout = float(settings["timeout"]) if "timeout" in settings else None
    if "limit" in settings:
        return client.semaphore(name, int(settings["limit"])).acquire(timeout)
    if "weight" in settings:
        return client.election(name, weight=int(settings["weight"])).acquire(timeout)
    return client.lock(name, shared="shared" in settings).acquire(timeout)


def fork(client: Client, grants: dict[str, Grant], name: str) -> None:
    """Fork a child, which must not believe that it holds the lock, and must not keep it held."""
    child = os.fork()
    if child == 0:
        grant = grants[name]
        believes = not grant.lost
        with suppress(OwnershipLost):
            grant.release()  # must not release the lock of the parent
        try:
            free = client.lock(name).try_acquire() is not None
        except VezError as error:  # engines that do not support a forked client raise an error
            why = "forked" if "fork" in error.message else error.message
            os.write(1, f"child {os.getpid()} {type(error).__name__} {why}\n".encode())
            signal.pause()
        os.write(1, f"child {os.getpid()} believes={believes} free={free}\n".encode())
        signal.pause()
    say("forked", child)


def hammer(client: Client, name: str, path: str, times: int) -> None:
    """Read, yield and write a number of times: without exclusion updates would be lost."""
    with open(path, "r+") as file:
        for _ in range(times):
            with client.lock(name):
                file.seek(0)
                value = int(file.read() or 0)
                time.sleep(0)
                file.seek(0)
                file.write(str(value + 1))
                file.flush()


def obey(client: Client, grants: dict[str, Grant], order: str, words: list[str]) -> None:
    """Execute one order."""
    match order:
        case "acquire":
            grants[words[0]] = acquire(client, *words)
            say("got", grants[words[0]].token)
        case "release":
            grants.pop(words[0]).release()
            say("released")
        case "why":  # the error of an acquire in words
            try:
                acquire(client, *words).release()
                say("got")
            except VezError as error:
                say(type(error).__name__, error)
        case "check":
            say("held" if words[0] in grants and not grants[words[0]].lost else "lost")
        case "fork":
            fork(client, grants, words[0])
        case "spawn":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
            say("spawned", child.pid)
        case "hammer":
            hammer(client, words[0], words[1], int(words[2]))
            say("hammered")
        case _:
            say("unknown", order)


def main(url: str) -> None:
    """Execute orders until the input ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run with SIGINT ignored
    client = connect(url)
    grants: dict[str, Grant] = {}
    say("ready")
    for line in sys.stdin:
        order, *words = line.split()
        try:
            obey(client, grants, order, words)
        except VezError as error:
            say("error", type(error).__name__)
        except KeyboardInterrupt:
            say("interrupted")


if __name__ == "__main__":
    main(sys.argv[1])
