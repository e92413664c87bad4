"""vez and the real etcdctl take turns: locks and elections, both ways."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

import vez
from vez.cli.status import status
from vez.errors import LockTimeout, Misuse
from vez.testing.actors import PATIENCE, eventually
from vez.testing.servers import EtcdServer

Ctl = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def ctl(etcd: EtcdServer) -> Iterator[Ctl]:
    """Starts etcdctl, and ends it."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        command = ["etcdctl", "--endpoints", etcd.endpoint, *words]
        environment = {**os.environ, "ETCDCTL_API": "3"}
        started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def space(url: str) -> str:
    """The namespace, as etcdctl must name it."""
    return url.partition("?")[0].rpartition("/")[2]


def test_a_lock_of_etcdctl_excludes_us_until_it_ends(url: str, ctl: Ctl) -> None:
    holder = ctl("lock", f"{space(url)}/shared", "--ttl", "5")
    key = line(holder)
    with vez.connect(url) as client, ThreadPoolExecutor(1) as pool:
        with pytest.raises(LockTimeout):
            client.lock("shared").acquire(0)
        with pytest.raises(LockTimeout, match=r"a program \(not of vez\) is inside"):
            client.lock("shared").acquire(0.1)
        shown = CliRunner().invoke(status, ["--url", url], standalone_mode=False).output
        assert "not of vez" in shown
        assert "process 0" not in shown
        seen = client.inspect("shared").holders
        assert [f"{space(url)}/shared/" in key, len(seen), seen[0].label] == [True, 1, "not of vez"]
        assert client.locks() == ["shared"]
        waiting = pool.submit(lambda: client.lock("shared").acquire(PATIENCE).token)
        eventually(lambda: len(client.inspect("shared").queue) == 1)
        assert not waiting.done()
        holder.send_signal(signal.SIGINT)
        assert (waiting.result(PATIENCE) or 0) > (seen[0].token or 0)


def test_our_lock_excludes_etcdctl_until_we_release(url: str, ctl: Ctl) -> None:
    with vez.connect(url) as client:
        grant = client.lock("shared").acquire()
        waiting = ctl("lock", f"{space(url)}/shared")
        eventually(lambda: len(client.inspect("shared").queue) == 1)
        with pytest.raises(LockTimeout):
            vez.connect(url).lock("shared", shared=True).acquire(0)  # behind both
        grant.release()
        assert line(waiting).startswith(f"{space(url)}/shared/")
        eventually(lambda: [who.label for who in client.inspect("shared").holders] == ["not of vez"])
        waiting.send_signal(signal.SIGINT)
        client.lock("shared").acquire(PATIENCE).release()


def test_readers_of_ours_wait_for_etcdctl_and_it_for_them(url: str, ctl: Ctl) -> None:
    with vez.connect(url) as one, vez.connect(url) as other, ThreadPoolExecutor(2) as pool:
        first, second = one.read_lock("shared").acquire(), other.read_lock("shared").acquire()
        writer = ctl("lock", f"{space(url)}/shared")
        eventually(lambda: len(one.inspect("shared").queue) == 1)
        late = pool.submit(other.read_lock("shared").acquire, PATIENCE)
        eventually(lambda: len(one.inspect("shared").queue) == 2)
        first.release()
        second.release()
        assert line(writer)
        assert not late.done()
        writer.send_signal(signal.SIGINT)
        late.result(PATIENCE).release()


def test_the_order_of_arrival_holds_among_both(url: str, ctl: Ctl) -> None:
    with vez.connect(url) as client, vez.connect(url) as other, ThreadPoolExecutor(1) as pool:
        grant = client.lock("shared").acquire()
        second = ctl("lock", f"{space(url)}/shared")
        eventually(lambda: len(client.inspect("shared").queue) == 1)
        third = pool.submit(lambda: other.lock("shared").acquire(PATIENCE))
        eventually(lambda: len(client.inspect("shared").queue) == 2)
        grant.release()
        assert line(second)
        assert not third.done()
        second.send_signal(signal.SIGINT)
        third.result(PATIENCE).release()


def test_a_leader_of_etcdctl_is_seen_and_succeeded(url: str, ctl: Ctl) -> None:
    leader = ctl("elect", f"{space(url)}/chief", "ada")
    line(leader)
    with vez.connect(url) as client, ThreadPoolExecutor(1) as pool:
        seen = next(client.election("chief").observe(PATIENCE))
        assert seen is not None
        assert seen.label == "ada"
        waiting = pool.submit(lambda: client.election("chief", weight=9).acquire(PATIENCE).term)
        eventually(lambda: len(client.inspect("chief", "election").queue) == 1)
        leader.send_signal(signal.SIGINT)
        assert waiting.result(PATIENCE) > seen.term


def test_etcdctl_sees_our_leader_and_succeeds_it(url: str, ctl: Ctl) -> None:
    with vez.connect(url) as client:
        leadership = client.election("chief", label="grace").acquire()
        observer = ctl("elect", "--listen", f"{space(url)}/chief")
        assert line(observer).startswith(f"{space(url)}/chief/")
        assert '"label":"grace"' in line(observer)
        candidate = ctl("elect", f"{space(url)}/chief", "ada")
        eventually(lambda: len(client.inspect("chief", "election").queue) == 1)
        leadership.resign()
        assert line(candidate).startswith(f"{space(url)}/chief/")


def test_a_candidate_of_etcdctl_is_not_removed_for_a_heavier_one_of_ours(url: str, ctl: Ctl) -> None:
    with vez.connect(url) as one, vez.connect(url) as other, ThreadPoolExecutor(2) as pool:
        leadership = one.election("chief", label="one").acquire()
        stranger = ctl("elect", f"{space(url)}/chief", "ada")
        eventually(lambda: len(one.inspect("chief", "election").queue) == 1)
        heavy = pool.submit(lambda: other.election("chief", weight=9, label="heavy").acquire(PATIENCE))
        eventually(lambda: len(one.inspect("chief", "election").queue) == 2)
        with pytest.raises(Misuse, match="not of vez"):
            leadership.transfer("heavy")
        leadership.check()
        leadership.resign()
        assert line(stranger)
        assert not heavy.done()
        stranger.send_signal(signal.SIGINT)
        heavy.result(PATIENCE).resign()


def test_a_lock_and_an_election_of_one_name_are_refused(url: str) -> None:
    with vez.connect(url) as one, vez.connect(url) as other:
        with one.lock("both"), pytest.raises(Misuse, match="in use as a lock, asked for as an election"):
            other.election("both").acquire(1)
        with one.election("both"), pytest.raises(Misuse, match="in use as an election, asked for as a lock"):
            other.lock("both").acquire(1)
        assert other.inspect("both").queue == ()
        with pytest.raises(Misuse, match="not allowed on etcd"):
            one.lock("vez/sessions").acquire(1)
