"""Authentication with every request or once: the number of checks, and the effect of a kill or a log-out."""

from __future__ import annotations

import statistics
import time

import msgspec

from vez.servers.paging.measure.shop import Shop
from vez.servers.paging.process import Client, ServerProcess
from vez.servers.paging.refusal import Refused

KINDS = ("password", "token", "session", "session, stable")


class Identity(msgspec.Struct, frozen=True):
    """One kind of authentication."""

    kind: str
    requests: int
    passwords: int
    """Number of slow checks of a password."""
    signatures: int
    look_ups: int
    milliseconds: float
    """Median time of a request that does nothing else."""
    after_log_out: bool
    """True if the server still accepts the client after it has logged out."""
    at_another_server: bool
    after_a_kill: bool
    """True if the client need not send its password again after the server was killed and started again."""


def identities(shop: Shop, requests: int) -> list[Identity]:
    """All kinds of authentication, each with this many requests."""
    found = []
    for stable, kinds in ((False, KINDS[:-1]), (True, KINDS[-1:])):
        with shop.server(stable=stable) as server, shop.server(stable=stable) as other:
            found += [_identity(shop, server, other, kind, requests) for kind in kinds]
    return found


def _identity(shop: Shop, server: ServerProcess, other: ServerProcess, kind: str, requests: int) -> Identity:
    with shop.client(server, "password") as nobody:
        before = nobody.ask("GET", "/status")
    with shop.client(server, kind.partition(",")[0]) as client:
        times = [_time(client) for _ in range(requests)]
        status = client.ask("GET", "/status")
        elsewhere = _believed(other, client.authorization)
        server.kill()
        server.start_again()
        restarted = _believed(server, client.authorization)
        client.close()
        if not restarted:
            client.authorization = shop.authorization
            client.log_in("session")
        client.ask("POST", "/logout")
        still = _believed(server, client.authorization)
    last = {"passwords": kind == "password", "signatures": kind == "token", "look_ups": "session" in kind}
    # Without the request for the status itself.
    counted = {name: status[name] - before[name] - was for name, was in last.items()}
    return Identity(kind, requests, **counted, milliseconds=statistics.median(times), after_log_out=still,
                    at_another_server=elsewhere, after_a_kill=restarted)  # fmt: skip


def _time(client: Client) -> float:
    begin = time.perf_counter()
    client.ask("GET", "/news")
    return (time.perf_counter() - begin) * 1000


def _believed(server: ServerProcess, authorization: str) -> bool:
    client = Client(server.port, authorization)
    try:
        client.ask("GET", "/news")
    except Refused as refused:
        if refused.status != 401:
            raise
        return False
    finally:
        client.close()
    return True
