"""Processes that a test started, as the kernel sees them."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path


def is_alive(process: int) -> bool:
    """True while a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def descendants(parent: int) -> set[int]:
    """The living processes below one."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, above = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has ended meanwhile
            continue
        if state != "Z":
            parents[int(entry.name)] = int(above)
    found: set[int] = set()
    while new := {one for one, above in parents.items() if above in found | {parent}} - found:
        found |= new
    return found


def started_at(process: int) -> float:
    """The start time of a process, in seconds since the machine was started, accurate to some hundredths; 0 if it has
    ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def stop_outside_of_the_doorway(process: subprocess.Popen[str], file: Path) -> None:
    """Stop a process. It is seen in the queue before it has left the doorway, in which it would stop everybody."""
    from vez.testing import eventually  # the first import of this file must not load vez

    def stopped() -> bool:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        with file.open("r+b") as opened:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                process.send_signal(signal.SIGCONT)
                return False
        return True

    eventually(stopped, "stopping it outside of the doorway")
