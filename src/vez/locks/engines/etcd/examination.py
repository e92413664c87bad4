"""Examination: the checks of `vez doctor` on an etcd cluster: members, version, clocks, round trips, disk, space,
alarms."""

from __future__ import annotations

import re
import secrets
import time
from email.utils import parsedate_to_datetime
from typing import TypeVar

import msgspec

from vez.errors import VezError
from vez.locks.engines.etcd.address import Address, Endpoint
from vez.locks.engines.etcd.error_replies import not_etcd, stranger
from vez.locks.engines.etcd.failures import LOST, why
from vez.locks.engines.etcd.http import NotHttp
from vez.locks.engines.etcd.replies import Alarm, Alarms, Member, Members, NotEtcd, Status, read, said
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.engines.network.wires import NotConnected, WireError
from vez.locks.engines.promises import Finding
from vez.locks.recipes.etcd.operations import LeaseGrant, Revoke

T = TypeVar("T")

SECONDS = 5.0
"""Longest wait for one answer."""
TRIPS = 10
"""Number of round trips that are measured; the median is reported."""
CLOCKS = 5.0
"""Difference between two clocks, in seconds, from which it is reported. The contract uses no wall clock, but the times
in `vez status` do."""
SYNCS = "etcd_disk_wal_fsync_duration_seconds_count"
FULL = 0.8
"""Share of the space quota above which the store counts as nearly full."""


def examine_cluster(address: Address) -> list[Finding]:
    """Findings about every endpoint of the URL, then about the cluster as reported by the first endpoint that
    answers."""
    address = msgspec.structs.replace(address, given_password=address.password(), password_file="")  # read once
    looked = [_look(address, endpoint) for endpoint in address.endpoints]
    seen = [facts for facts, _ in looked if facts is not None]
    return [finding for _, finding in looked] + (_cluster(address, seen[0]) if seen else [])


class Facts(msgspec.Struct, frozen=True):
    """The answers of one member."""

    endpoint: Endpoint
    status: Status
    members: tuple[Member, ...]
    alarms: tuple[Alarm, ...]
    metrics: str
    synced: int | None
    """Number of disk syncs of the server during our two writes; None if the server does not report it."""
    trip_ms: float
    clock_seconds: float
    """Seconds by which the clock of the server is ahead of ours."""


def _look(address: Address, endpoint: Endpoint) -> tuple[Facts | None, Finding]:
    try:
        facts = _ask(address, endpoint)
    except (NotConnected, *LOST, NotHttp, VezError) as error:
        reason = error.message if isinstance(error, VezError) else why(endpoint, error)
        advice = "others of the URL are used; bring it back, or take it out of the URL"
        return None, Finding(f"member {endpoint}", reason, advice, "problem")
    role = "the leader" if facts.status.leader == facts.status.header.member_id else "a follower"
    if not facts.status.leader:
        return facts, Finding(f"member {endpoint}", "sees no leader", "nothing is granted without one", "problem")
    return facts, Finding(
        f"member {endpoint}", f"etcd {said(facts.status.version)}, {role}, {facts.trip_ms:.1f} ms a round trip"
    )


def _ask(address: Address, endpoint: Endpoint) -> Facts:
    """Query one member over its own connection."""
    transport = EtcdTransport(msgspec.structs.replace(address, endpoints=(endpoint,)))
    connection = transport.connect(endpoint, SECONDS)
    try:
        token = transport.login(connection, SECONDS)

        def post(path: str, kind: type[T]) -> T | None:
            status, body = connection.call(f"/v3/{path}", b"{}", token, SECONDS)
            if status != 200 and kind is not Status:
                return None  # this user has no permission to read it
            if status != 200 or not connection.exchange.reusable():
                raise stranger(str(endpoint), f"it answered with status {status}")
            try:
                return read(kind, body)
            except NotEtcd as error:
                raise not_etcd(str(endpoint), error) from error

        trips = []
        for _ in range(TRIPS):
            begin = time.monotonic()
            status = post("maintenance/status", Status)
            trips.append((time.monotonic() - begin) * 1000)
        ahead = _ahead(connection.exchange.date)
        members, alarms = (
            post("cluster/member/list", Members) or Members(),
            post("maintenance/alarm", Alarms) or Alarms(),
        )
        before = _metric(_metrics(transport, endpoint), SYNCS)
        _write_twice(transport)
        metrics = _metrics(transport, endpoint)
        after = _metric(metrics, SYNCS)
        synced = None if before is None or after is None else int(after - before)
        assert status is not None, "only other replies may be absent"
        trip_ms = sorted(trips)[TRIPS // 2]
        return Facts(endpoint, status, members.members, alarms.alarms, metrics, synced, trip_ms, ahead)
    finally:
        connection.close()
        transport.close()


def _write_twice(transport: EtcdTransport) -> None:
    """Write twice: create a lease and revoke it. Nothing remains."""
    lease = secrets.randbits(62) + 1
    transport.call(LeaseGrant(lease, 5), SECONDS)
    transport.call(Revoke(lease), SECONDS)


def _metrics(transport: EtcdTransport, endpoint: Endpoint) -> str:
    """The Prometheus metrics of a member; empty if it does not serve them."""
    connection = transport.connect(endpoint, SECONDS)
    try:
        connection.send("/metrics", b"", "", SECONDS, "GET")
        exchange = connection.exchange
        while not exchange.ended and connection.receive(SECONDS):
            pass
        return exchange.body().decode(errors="replace") if exchange.status == 200 else ""
    except (NotHttp, WireError):
        return ""
    finally:
        connection.close()


def _metric(text: str, name: str) -> float | None:
    found = re.search(rf"^{name} ([0-9]{{1,20}}(\.[0-9]+)?(e[+-]?[0-9]{{1,2}})?)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def _ahead(date: str) -> float:
    """Seconds by which the clock that wrote this date is ahead of ours; 0 if it is no date."""
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return 0.0


def _cluster(address: Address, facts: Facts) -> list[Finding]:
    return [
        _size(address, facts),
        _durability(facts),
        _space(facts),
        _clock(facts),
        *(
            Finding("alarm", said(alarm.alarm), "nothing is written until it is disarmed", "problem")
            for alarm in facts.alarms
        ),
        _protection(address),
    ]


def _size(address: Address, facts: Facts) -> Finding:
    voters = [member for member in facts.members if not member.isLearner]
    if not voters:
        return Finding("cluster", "this user may not list its members", level="note")
    survives = (len(voters) - 1) // 2
    told = f"{len(voters)} voting {'member' if len(voters) == 1 else 'members'}, survives the loss of {survives}"
    if not survives:
        return Finding("cluster", told, "three members on three machines survive the loss of one", "note")
    if len(address.endpoints) == 1:
        return Finding("cluster", told, "name all members in the URL: etcd://h1:2379,h2:2379,h3:2379", "note")
    return Finding("cluster", told)


def _durability(facts: Facts) -> Finding:
    count, total = _metric(facts.metrics, SYNCS), _metric(facts.metrics, "etcd_disk_wal_fsync_duration_seconds_sum")
    if facts.synced is None or count is None or total is None:
        return Finding("durability", "it does not tell (no /metrics at this port)", "see that fsync is on", "note")
    if not facts.synced:
        advice = "start etcd without --unsafe-no-fsync: a power failure can give tokens twice"
        return Finding("durability", "it writes without fsync", advice, "problem")
    return Finding("durability", f"every write is synced to disk, {total / max(count, 1) * 1000:.1f} ms on average")


def _space(facts: Facts) -> Finding:
    used, quota = facts.status.dbSize, _metric(facts.metrics, "etcd_server_quota_backend_bytes")
    if quota is None:
        return Finding("space", f"{used >> 10:,} KiB used")
    told = f"{used >> 10:,} KiB of {int(quota) >> 20:,} MiB used"
    if used > FULL * quota:
        return Finding("space", told, "compact and defragment it: a full etcd grants nothing", "problem")
    return Finding("space", told)


def _clock(facts: Facts) -> Finding:
    told = f"the server's clock is {abs(facts.clock_seconds):.0f} s {'ahead' if facts.clock_seconds > 0 else 'behind'}"
    if abs(facts.clock_seconds) > CLOCKS:
        return Finding("clocks", told, "leases do not depend on it; the times that vez status shows do", "note")
    return Finding(
        "clocks", "agree within the second in which the reply came" if abs(facts.clock_seconds) < 2 else told
    )


def _protection(address: Address) -> Finding:
    local = all(one.host in ("127.0.0.1", "localhost", "::1") for one in address.endpoints)
    if not address.tls and not local:
        advice = "use TLS beyond this machine (?tls=1 or ?ca=FILE): whoever reads along can take any lock"
        return Finding("protection", "no TLS", advice, "problem")
    return Finding("protection", f"{'TLS' if address.tls else 'loopback'}, {'a user' if address.user else 'no user'}")
