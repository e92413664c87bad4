"""A server of the paged query as a process of its own: python -m vez.servers.paging

The setup is one line of JSON on standard input, so that no secret is in the arguments or in the environment. The answer
is one line on standard output, {"port": N}. The server ends when standard input ends, so that it does not outlive the
process that started it.
"""

from __future__ import annotations

import os
import sys

import msgspec

from vez.servers.paging.service import Paging, Setup
from vez.servers.serving import Limits, make_server
from vez.servers.serving.log import to_stderr


def main() -> None:
    """Serve until standard input ends."""
    setup = msgspec.json.decode(sys.stdin.readline(), type=Setup)
    server = make_server(setup.model, Paging(setup), limits=Limits(grace_s=2.0), write_log=to_stderr)
    _, port = server.start("127.0.0.1", setup.port)
    print(f'{{"port": {port}}}', flush=True)
    try:
        sys.stdin.read()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # a thread that is stuck in the database must not keep the process
