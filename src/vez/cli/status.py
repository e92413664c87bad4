"""`vez status`: who holds what, who waits, and for how long.

What is found is printed by `status_table.py`. A look that finds nothing is printed here, without loading rich and
msgspec, if standard output is not a terminal: scripts and health checks look often, and mostly find nothing.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from vez.cli.parameters.declared import Declared, Given, Option
from vez.cli.parameters.engine_url import engine_url
from vez.errors import CorruptState, EngineUnavailable, Misuse
from vez.locks.engines.base import Kind
from vez.locks.engines.names import check_name
from vez.locks.engines.urls import without_password
from vez.locks.turns.client import Client, open_client

if TYPE_CHECKING:
    from pathlib import Path

    from vez.cli.status_table import Damaged
    from vez.locks.engines.base import Inspection

EXIT_DAMAGED = CorruptState.exit_code
KINDS: tuple[Kind, ...] = ("lock", "semaphore", "election")
MANY = 100
"""Number of names above which a look shows how far it is."""
PIPE_WIDTH = 110


def show_status(
    given: Given, *, name: str | None, url: str | None, prefix: str, everything: bool, watch: bool, interval: float,
    as_json: bool, output: Path | None,
) -> int:  # fmt: skip
    """Show the holders, waiters and forced releases of NAME, or of all names in use.

    Of a job that runs once in a period (`vez run --every`) it shows when that was done last, and when the next
    period begins. A name whose files cannot be read is shown as damaged; the exit code is then 65.
    """
    given.only_with("--watch", watch, "interval")
    given.not_together("name", "everything")
    given.not_together("name", "prefix")
    given.not_together("watch", "output")
    if name is not None:
        check_name(name)
    with open_client(engine_url(url)) as client:
        if watch:
            from vez.cli import status_table

            watching = status_table.watch_json if as_json else status_table.watch
            watching(client, lambda: look(client, name, prefix, everything=everything), name, interval)
        found = look(client, name, prefix, everything=everything, shown=True)
        if found or output is not None or not _print_nothing(client, name, as_json=as_json):
            from vez.cli import status_table

            status_table.show(client, found, name, output, as_json=as_json)
        return EXIT_DAMAGED if any(hasattr(seen, "damaged") for seen in found) else 0


def look(
    client: Client, name: str | None, prefix: str = "", *, everything: bool, shown: bool = False
) -> list[Inspection | Damaged]:
    """Inspect a name, or all names in use that begin with the prefix. With `shown`, a progress bar appears if there are
    many."""
    found: list[Inspection | Damaged] = []
    known = [(kind, one) for kind in KINDS for one in client.locks(prefix, kind) if name is None or one == name]
    with _steps(len(known)) if shown and len(known) > MANY else nullcontext(str) as step:
        for kind, one in known:
            step()
            try:
                if not everything and name is None and _is_idle(client, one, kind):
                    continue
                seen = client.inspect(one, kind)
            except (CorruptState, EngineUnavailable, Misuse) as error:  # one of them must not hide the others
                from vez.cli.status_table import Damaged

                found.append(Damaged(one, kind, str(error)))
                continue
            if everything or name is not None or seen.holders or seen.queue or seen.done:
                found.append(seen)
    return found


def _is_idle(client: Client, name: str, kind: Kind) -> bool:
    """True if it is known at little cost that there is nothing to show of a name."""
    engine = client.engine
    return engine.is_idle(name, kind) and not (kind == "lock" and engine.traits.memos and engine.memo(name))


def _steps(count: int) -> Any:
    from vez.cli.printing.progress import progress

    return progress("looking", count)


def nothing(name: str | None) -> str:
    """The sentence that is printed if nothing was found."""
    return f"nobody holds or waits for {'anything' if name is None else repr(name)}"


def _print_nothing(client: Client, name: str | None, *, as_json: bool) -> bool:
    """Print that nothing was found, as rich would; False if rich might print it in another way: with colours, in
    several lines, or with a picture instead of a word between two colons."""
    url, text = without_password(client.url), nothing(name)
    if as_json:
        import json

        print(json.dumps({"url": url, "names": []}, separators=(",", ":"), ensure_ascii=False))
        return True
    asked = os.environ.get("COLUMNS", "")
    width = int(asked) if asked.isdigit() and int(asked) else PIPE_WIDTH
    plain = (url + text).isascii() and (url + text).isprintable() and url.count(":") + text.count(":") < 2
    styled = sys.stdout.isatty() or not os.environ.keys().isdisjoint(("FORCE_COLOR", "TTY_COMPATIBLE"))
    if styled or not plain or len(text) > width:
        return False
    print(f"{url}\n{text}")
    return True


STATUS = Declared(
    "status",
    "Show who holds what, who waits, and for how long.",
    show_status,
    (
        Option(("--url",), "url", "The engine.  [default: VEZ_URL, or the files of this machine]"),
        Option(("--prefix",), "prefix", "Only names that begin with TEXT.", default="", metavar="TEXT"),
        Option(("--all",), "everything", "Also show names that nobody holds or waits for.", "flag"),
        Option(("--watch",), "watch", "Refresh until interrupted.", "flag"),
        Option(("--interval",), "interval", "With --watch: seconds between two looks.", "number", 0.5, 0.05,
               metavar="S", show_default=True),
        Option(("--json",), "as_json", "Print JSON; with --watch, one line at each change.", "flag"),
        Option(("-o", "--output"), "output", "Write the table to a file: .txt, .md or .json.", "file",
               suffixes=(".txt", ".md", ".json")),
    ),
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """`status`, the click command, is made when it is used: most command lines are read without click."""
    if name != "status":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vez.cli.parameters.clicked import made

    return made(STATUS)
