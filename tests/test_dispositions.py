"""Whatever signals the test run ignores or blocks, the commands that tests start have the signals of a terminal."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT
from tests.dispositions import ignoring

PROGRAM = """
import os, signal, subprocess
from tests import dispositions

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
dispositions.restore()
child = subprocess.run(["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"], capture_output=True, text=True, timeout=30)
names, masks = child.stdout.split()[::2], child.stdout.split()[1::2]
usual = (1 << 31) - 1  # 32 and above are real-time signals, which nobody here sends
print(*(f"{name} {int(mask, 16) & usual}" for name, mask in zip(names, masks, strict=True)))
print(subprocess.run(["false"], timeout=30).returncode)
os.kill(os.getpid(), signal.SIGHUP)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_what_was_ignored_or_blocked_is_not_inherited() -> None:
    command = ignoring("INT HUP TERM QUIT CHLD USR1 ALRM PIPE", sys.executable, "-c", PROGRAM)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == [
        "SigBlk: 0 SigIgn: 0",
        "1",
        "interrupted",  # and a hangup, before, did not end it: `nohup make test` goes on
    ], done.stderr
