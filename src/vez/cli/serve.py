"""`vez serve`: one server, in the foreground."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import only_with, without_effect
from vez.errors import Misuse

MODELS = ("single", "thread-per-request", "pool", "staged", "loop")
UNUSED = {"single": ("threads", "queue", "full"), "thread-per-request": ("queue",)}
"""Options that a model does not use: one thread has no queue, and a new thread for each request needs none."""


@click.command("serve", short_help="Serve the pages of a folder on loopback.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--model", type=click.Choice(MODELS), default="loop", show_default=True,
              help="Which thread does what. All but loop can be held up by clients that are slow to ask.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, metavar="N",
              help="0 takes a free one.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1, 1000), default=8, show_default=True, metavar="N",
              help="Threads that read pages; of thread-per-request, the most.")  # fmt: skip
@click.option("--most-threads", type=click.IntRange(1, 1000), metavar="N", help="pool: grow up to so many threads.")
@click.option("--queue", type=click.IntRange(1, 100_000), default=64, show_default=True, metavar="N",
              help="Requests that may wait.")  # fmt: skip
@click.option("--full", type=click.Choice(("block", "refuse")), default="block", show_default=True,
              help="At the limit: let new requests wait, or answer them with 503.")  # fmt: skip
@click.option(
    "--rate", type=Number(0), default=0.0, metavar="N", help="Requests a second of one address; 0: any number."
)
@click.option("--disk", "disk_ms", type=Number(0, 60_000), default=0.0, metavar="MS", help="Make each read so slow.")
@click.option("--grace", type=Number(0, 3600), default=5.0, show_default=True, metavar="S",
              help="Time for open requests when it stops.")  # fmt: skip
def serve(
    folder: Path,
    model: str,
    host: str,
    port: int,
    threads: int,
    most_threads: int | None,
    queue: int,
    full: str,
    rate: float,
    disk_ms: float,
    grace: float,
) -> int:
    """Serve the files below FOLDER over HTTP until interrupted (Ctrl-C or SIGTERM). Loopback addresses only.

    Names that begin with a dot and symbolic links are not served. The request that each connection is at is answered
    before the server ends; exit code 1 says that some had to be cut.
    """
    from vez.servers.serving import Limits, Settings, make_server  # needs vez[serving]
    from vez.servers.serving.log import to_stderr
    from vez.servers.serving.pages import KEPT_BYTES, Pages

    only_with("--model pool", model == "pool", "most_threads")
    without_effect(f"--model {model}", *UNUSED.get(model, ()))
    if most_threads is not None and most_threads < threads:
        raise Misuse("--most-threads is smaller than --threads", hint="a pool grows from --threads to --most-threads")
    settings = Settings(
        workers=threads, most_workers=most_threads or 0, queue=queue, refuse_when_full=full == "refuse",
        most_threads=threads, stages=(max(2, threads // 4), threads, max(2, threads // 4)),
    )  # fmt: skip
    pages = Pages(folder, disk_ms=disk_ms, cache_bytes=0 if disk_ms else KEPT_BYTES)
    server = make_server(
        model, pages, settings=settings, limits=Limits(requests_a_second=rate, grace_s=grace), write_log=to_stderr
    )
    with _told_to_stop() as stopped:
        server.start(host, port)
        click.echo(server.url)
        stopped.wait()
        in_time = server.stop()
    counts = ", ".join(f"{count} {field}" for field, count in server.counts.as_dict().items() if count)
    server.log.line(counts or "nobody came", always=True)
    return 0 if in_time else 1


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set. After the body the old handlers are restored.

    An ignored SIGINT stays ignored, so that a script that starts a server with `&` can be
    interrupted without ending it."""
    stopped = threading.Event()
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    numbers = (signal.SIGTERM,) if ignored else (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in numbers}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
