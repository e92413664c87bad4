"""Values of parameters that mean nothing are refused before anything is explored."""

from __future__ import annotations

import pytest

from vez.cli.app import run

NONSENSE = [
    ("etcd-semaphore", "limit=0", "limit is 1 or more, found 0"),
    ("etcd-break-permits", "limit=-2", "limit is 1 or more, found -2"),
    ("etcd-break", "at_once=0", "at_once is 1 or more, found 0"),
    ("etcd-lock-timed", "lease_seconds=0", "lease_seconds is 1 or more, found 0"),
    ("etcd-lock-timed", "lease_seconds=-1", "lease_seconds is 1 or more, found -1"),
    ("etcd-lock-timed", "margin=-1", "margin is 0 or more, found -1"),
    ("etcd-lock-timed", "margin=7", "margin is at most lease_seconds=6, found 7"),
    ("etcd-lock-timed", "stay=-1", "stay is 0 or more, found -1"),
    ("etcd-lock", "doubts=-1", "doubts is 0 or more, found -1"),
    ("etcd-lock", "expiries=-1", "expiries is 0 or more, found -1"),
    ("etcd-election", "doubts=-1", "doubts is 0 or more, found -1"),
    ("etcd-observe", "expiries=-1", "expiries is 0 or more, found -1"),
    ("etcd-transfer", "doubts=-1", "doubts is 0 or more, found -1"),
    ("etcd-lock-no-fence", "doubts=-1", "doubts is 0 or more, found -1"),
]


@pytest.mark.parametrize(("recipe", "value", "told"), NONSENSE, ids=[f"{one[0]} {one[1]}" for one in NONSENSE])
def test_a_value_that_means_nothing_is_refused(
    capsys: pytest.CaptureFixture[str], recipe: str, value: str, told: str
) -> None:
    code = run(["check", f"recipe:{recipe}", "--set", value, "--max-states", "1000"])
    assert (code, capsys.readouterr().err.splitlines()[0]) == (64, f"vez: recipe:{recipe}: {told}")
