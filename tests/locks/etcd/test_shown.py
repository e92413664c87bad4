"""The values of keys, as written by this version, other versions and other programs."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import vez
from vez import aio
from vez.cli.status import status
from vez.errors import LockTimeout
from vez.locks.engines.wording import how_to_look
from vez.locks.recipes.etcd.shown import Shown, decode, encode
from vez.testing.servers import EtcdServer


def readers(etcd: EtcdServer, space: str) -> str:
    """The URL of a reader with another lease than the holders."""
    return f"{etcd.url}/{space}?lease=33"


def test_an_inspection_shows_the_lease_of_the_holder(etcd: EtcdServer) -> None:
    """The time for which the lock of a dead holder stays held depends on its lease, not on that of the reader."""
    reader = readers(etcd, "leases")
    with vez.connect(f"{etcd.url}/leases?lease=7") as client, vez.connect(reader) as looking:
        assert looking.inspect("x").lease_seconds == 33, "nobody holds it"
        with client.lock("x"):
            assert looking.inspect("x").lease_seconds == 7
            shown = CliRunner().invoke(status, ["x", "--json", "--url", reader], standalone_mode=False)
            assert json.loads(shown.output)["names"][0]["lease_seconds"] == 7
        with client.lock("x", lease=12.3):
            assert looking.inspect("x").lease_seconds == 13
        with client.lock("x", shared=True), looking.read_lock("x"):
            assert looking.inspect("x").lease_seconds == 33, "the longest counts"
        with client.election("e"):
            assert looking.inspect("e", "election").lease_seconds == 7
        with client.semaphore("s", 2):
            assert looking.inspect("s", "semaphore").lease_seconds == 7


def test_the_commands_choose_the_lease_of_their_holder(etcd: EtcdServer) -> None:
    space = f"{etcd.url}/leases-of-commands"
    vez_command = [sys.executable, "-m", "vez"]
    look = [*vez_command, "status", "x", "--json", "--url", space]
    run = [*vez_command, "run", "x", "--lease", "9", "--url", space, "--", *look]
    done = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout)["names"][0]["lease_seconds"] == 9
    with (
        subprocess.Popen([*vez_command, "elect", "e", "--lease", "8", "--url", space], stdout=subprocess.PIPE,
                         text=True) as leads,
        vez.connect(space) as looking,
    ):  # fmt: skip
        assert leads.stdout is not None
        leads.stdout.readline()
        assert looking.inspect("e", "election").lease_seconds == 8
        leads.send_signal(signal.SIGINT)


def test_an_inspection_by_a_task_shows_it_too(etcd: EtcdServer) -> None:
    async def run() -> float | None:
        async with (
            aio.connect(f"{etcd.url}/leases-of-tasks?lease=7") as client,
            aio.connect(readers(etcd, "leases-of-tasks")) as looking,
            client.lock("x"),
        ):
            return (await looking.inspect("x")).lease_seconds

    assert asyncio.run(run()) == 7


def test_a_holder_that_does_not_say_its_lease(etcd: EtcdServer) -> None:
    """As versions before this field and etcdctl write it."""
    reader = readers(etcd, "older")
    older = '{"vez":1,"kind":"lock","host":"here","pid":7,"label":"old","since":1.5}'
    etcd.ctl("put", "older/x/77", older)
    etcd.ctl("put", "older/y/78", "")
    with vez.connect(reader) as looking:
        assert [(who.label, who.pid) for who in looking.inspect("x").holders] == [("old", 7)]
        assert looking.inspect("x").lease_seconds == 33
        assert looking.inspect("y").lease_seconds == 33


def test_fields_of_later_versions_are_passed_over() -> None:
    mine = Shown(1, "lock", lease=7)
    assert json.loads(encode(mine)) == {"vez": 1, "kind": "lock", "lease": 7}
    assert decode('{"vez":1,"kind":"lock","lease":7,"later":[1]}') == mine


def test_the_hint_of_a_timeout_names_the_engine_without_its_password(etcd: EtcdServer) -> None:
    with vez.connect(f"{etcd.url}/hints?lease=5") as client, client.lock("x"):
        other = vez.connect(f"{etcd.url}/hints?lease=6")
        with pytest.raises(LockTimeout) as caught:
            other.lock("x").acquire(0)
        other.close()
    assert caught.value.hint == f"see who holds it: vez status x --url '{etcd.url}/hints?lease=6'"
    shown = how_to_look("x", "lock", "etcd://ada:secret@host:1")
    assert shown == "vez status x --url 'etcd://ada:***@host:1'"
    assert how_to_look("x", "election", "memory:") == "client.inspect('x', 'election')"
