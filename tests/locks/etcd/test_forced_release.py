"""The notice of a forced release reaches the grant that it is about, and no other."""

from __future__ import annotations

import asyncio

import pytest
from click.testing import CliRunner

import vez
from tests.locks.etcd.faulty import keys
from vez import aio
from vez.cli.status import status
from vez.errors import OwnershipLost
from vez.locks.engines import wording
from vez.locks.engines.base import Request
from vez.locks.engines.etcd import TRAITS
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.recipe_set import EtcdRecipeSet
from vez.locks.engines.machine import host_name
from vez.locks.engines.network.engine_base import EngineBase
from vez.locks.engines.network.holding import NetworkClaim
from vez.locks.engines.network.recipe_set import Granted
from vez.locks.engines.network.session import Session
from vez.testing.actors import PATIENCE, eventually
from vez.testing.servers import EtcdServer


def space(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2] + "/"


def late_word(etcd: EtcdServer, url: str, token: int | None) -> str:
    """Tell the only session of the namespace, as `vez break` does, that this token of x was broken. Returns the key."""
    session = next(key for key in keys(etcd, space(url)) if "/vez/sessions/" in key)
    word = f"{session}/broken/1"
    etcd.ctl("put", word, f"x/ {token} a test", "--lease", session.rpartition("/")[2])
    return word


def test_a_late_word_does_not_take_the_next_grant_of_a_thread(etcd: EtcdServer, url: str) -> None:
    """The holder finds its key gone, releases and acquires again before it learns that the first turn was broken."""
    with vez.connect(url) as client:
        first = client.lock("x").acquire()
        first.release()
        grant = client.lock("x").acquire()
        word = late_word(etcd, url, first.token)
        eventually(lambda: word not in keys(etcd, space(url)))
        assert not grant.lost
        late_word(etcd, url, grant.token)
        assert grant.wait_lost(PATIENCE)
        with pytest.raises(OwnershipLost, match="force: a test"):
            grant.release()


def test_a_word_that_is_not_of_vez_does_not_end_the_renewal(etcd: EtcdServer, url: str) -> None:
    with vez.connect(url) as client:
        grant = client.lock("x").acquire()
        word = late_word(etcd, url, None)
        eventually(lambda: word not in keys(etcd, space(url)))
        assert not grant.lost
        late_word(etcd, url, grant.token)
        assert grant.wait_lost(PATIENCE), "its renewal hears on"


def test_a_late_word_does_not_take_the_next_grant_of_a_task(etcd: EtcdServer, url: str) -> None:
    async def main() -> None:
        async with aio.connect(url) as client:
            first = await client.election("x").acquire()
            await first.release()
            async with client.election("x") as grant:
                word = await asyncio.to_thread(late_word, etcd, url, first.token)
                await asyncio.to_thread(eventually, lambda: word not in keys(etcd, space(url)))
                assert not grant.lost

    asyncio.run(main())


def test_the_record_of_a_forced_release_is_found_until_it_is_pruned(url: str) -> None:
    """Its reason is shown by `vez status`, also when nobody has used the name since."""

    def shown(*words: str) -> str:
        return CliRunner().invoke(status, [*words, "--url", url], standalone_mode=False).output

    with vez.connect(url) as client:
        with pytest.raises(OwnershipLost), client.lock("a/x", grace=0):
            client.break_lock("a/x", "too slow")
        assert client.locks() == client.locks("a/") == ["a/x"]
        assert client.locks("b") == client.locks(kind="election") == []
        assert "too slow" in shown("a/x")
        assert "too slow" in shown("--all")
        assert "nobody" in shown()
        assert client.prune() == 1
        assert client.locks() == []
        assert "nobody" in shown("a/x")


def test_a_holder_elsewhere_is_shown_with_its_machine(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with vez.connect(url) as client, client.lock("x"):
        here = CliRunner().invoke(status, ["--url", url], standalone_mode=False).output
        monkeypatch.setattr(wording, "host_name", lambda: "another")
        there = CliRunner().invoke(status, ["--url", url], standalone_mode=False).output
    assert (f" on {host_name()}" in here, f" on {host_name()}" in there) == (False, True)


def claimed(session: Session) -> NetworkClaim:
    claim = NetworkClaim(Request("x"), lambda: None)
    claim.session, claim.use = session, session.use("x/", claim)
    return claim


@pytest.mark.parametrize(("token", "lost"), [(7, True), (6, False), (None, False)])
def test_a_word_that_comes_before_the_reply_of_its_grant(token: int | None, lost: bool) -> None:
    """The server has granted, the grant was broken, and the reply of the grant is read after the notice."""
    session = Session(10, lambda: 0.0)
    session.prove(10)
    claim = claimed(session)
    session.lose("x/", "a test", token)
    claim.granted = Granted(7, None)
    claim.enter()
    assert (claim.loss() is not None) == lost


def test_a_request_that_asks_again_has_lost_nothing() -> None:
    """A client that was paused after its request reads the grant when its proof has ended, and asks again."""
    now = [0.0]
    before, after = Session(10, lambda: now[0]), Session(10, lambda: now[0])
    before.prove(10)
    after.prove(40)
    claim = claimed(before)
    claim.granted = Granted(7, None)
    now[0] = 20.0
    engine = EngineBase("etcd://127.0.0.1", EtcdRecipeSet(parse("etcd://127.0.0.1"), TRAITS), lambda: now[0])
    assert not engine._taken(claim, before)
    claim.session, claim.use = after, after.use("x/", claim)
    claim.granted = Granted(9, None)
    assert engine._taken(claim, after)
    assert claim.loss() is None
