"""Jobs: work for the campaign in a process that sees the engine as the workers do: break, prune, fill the disk."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from vez.errors import EngineUnavailable, Misuse
from vez.locks.turns.client import Client, connect
from vez.testing.torture import inner_faults
from vez.testing.torture.controls import Controls
from vez.testing.torture.fork_server import Answer, Order
from vez.testing.torture.record import Recorder
from vez.testing.torture.stays import target_of

_CHUNKS = (1 << 16, 1 << 12, 1)
_FILLER = "filler"
_REASON = " ".join(["torture"] * 100)
"""The reason of a break. It is long, so that a record often needs another page of a full disk."""


def run(order: Order, folder: Path, url: str, name: str) -> Answer:
    """Run a job. A refusal of the engine because of a fault is an answer too."""
    controls = Controls(folder / "controls")
    recorder = Recorder(folder / "0.jsonl", 0, controls.origin)
    inner_faults.install(controls, 0, recorder)
    recorder.name = order.suffix
    try:
        with connect(url) as client:
            return _run(order, client, name)
    except EngineUnavailable as error:
        return Answer(error=str(error))


def _run(order: Order, client: Client, name: str) -> Answer:
    if order.what == "break":
        target = target_of(order.suffix)
        record = client.break_lock(target.name(name), _REASON, target.engine_kind)
        if record is None:
            return Answer()
        shown = client.inspect(target.name(name), target.engine_kind).breaks
        return Answer(tokens=record.tokens, recorded=record.tokens in [one.tokens for one in shown])
    if order.what == "prune":
        return Answer(count=client.prune(name if not order.suffix else f"{name}-{order.suffix}"))
    files = inner_faults.files_of(client.engine)
    if order.what == "fill" and files is not None:
        _fill(Path(files.path, _FILLER))
        return Answer()
    if order.what == "free" and files is not None:
        Path(files.path, _FILLER).unlink(missing_ok=True)
        return Answer()
    raise Misuse(f"unknown job {order.what!r}")


def _fill(path: Path) -> None:
    """Write until the disk is full."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in _CHUNKS:
            with suppress(OSError):
                while True:
                    os.write(descriptor, bytes(size))
    finally:
        os.close(descriptor)
