"""One server: `python -m bench.servers KIND`. It prints its port as a line, and ends when standard input ends.

All serve the same page of about a kilobyte and keep connections. All except uvicorn use the same page service; uvicorn
has a minimal application that returns constant bytes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from vez.servers.serving import Request, Settings, make_server
from vez.servers.serving.pages import Pages
from vez.servers.serving.trial.plan import PAGE

Scope = MutableMapping[str, Any]


def pages() -> Pages:
    """A folder with one page."""
    folder = Path(tempfile.mkdtemp(prefix="vez-bench-"))
    (folder / "short.html").write_bytes(PAGE)
    return Pages(folder)


def ours(model: str) -> int:
    """One of the five models."""
    server = make_server(model, pages(), settings=Settings(workers=4))
    return server.start()[1]


def threading_http_server() -> int:
    """The standard library's server: a thread for each connection."""
    service = pages()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # one packet for an answer: without this the kernel delays the second one

        def do_GET(self) -> None:
            answer = service.answer(service.decide(service.decode(Request("GET", self.path))))
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:
            return

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


def streams() -> int:
    """asyncio's streams, with a parser for exactly the requests of our clients."""
    service = pages()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
                answer = service.answer(service.decide(service.decode(Request(method, target))))
                writer.write(
                    b"HTTP/1.1 %d OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                    % (answer.status, answer.content_type.encode(), len(answer.body), answer.body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    ports: list[int] = []
    ready = threading.Event()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=256)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    ready.wait()
    return ports[0]


def uvicorn_h11() -> int:
    """uvicorn with h11 and a minimal application."""
    import uvicorn

    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(PAGE))]

    async def application(
        scope: Scope, receive: Callable[[], Awaitable[Scope]], send: Callable[[Scope], Awaitable[None]]
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE})

    config = uvicorn.Config(
        application, port=0, http="h11", loop="asyncio", lifespan="off", ws="none", access_log=False, log_level="error"
    )  # it makes its socket itself: on one from `socket.create_server` asyncio does not set TCP_NODELAY
    server = uvicorn.Server(config)
    threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return int(server.servers[0].sockets[0].getsockname()[1])


KINDS: dict[str, Callable[[], int]] = {
    **{model: lambda model=model: ours(model) for model in ("single", "thread-per-request", "pool", "staged", "loop")},  # type: ignore[misc]
    "ThreadingHTTPServer": threading_http_server,
    "asyncio streams": streams,
    "uvicorn, h11": uvicorn_h11,
}


if __name__ == "__main__":
    print(KINDS[sys.argv[1]](), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)
