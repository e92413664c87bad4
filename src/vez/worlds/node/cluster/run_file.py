"""Run file: the facts of a run that only the cluster knows, in a file beside the journals.

A node cannot record that it was killed, stopped or cut off, and a journal does not say how the run ended. With this
file, a folder that `vez cluster --keep` leaves is judged in the same way as the run itself.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from vez.core.trace import AnyEvent, End
from vez.errors import BadData, MissingFile

FORMAT = 1
NAME = "run.json"


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Faults and end of a run. Times are of the clock of the journals."""

    vez_run: int = FORMAT
    end: End
    ended_us: int
    patience_us: int
    faults: tuple[AnyEvent, ...] = ()


_decoder = msgspec.json.Decoder(RunFacts)


def write_run_file(folder: Path, kept: RunFacts) -> None:
    """Write the file."""
    (folder / NAME).write_bytes(msgspec.json.encode(kept, order="deterministic") + b"\n")


def read_run_file(folder: Path) -> RunFacts | None:
    """The facts in the file of a folder; None if there is no file."""
    path = folder / NAME
    try:
        kept = _decoder.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise BadData(f"{path} is damaged: {error}", hint="it must be as `vez cluster --keep` writes it") from error
    if kept.vez_run != FORMAT:
        raise BadData(f"{path} has format {kept.vez_run}; this vez reads format {FORMAT}")
    return kept
