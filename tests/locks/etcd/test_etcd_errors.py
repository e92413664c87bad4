"""Clear errors: the server is absent, refuses the password, speaks another protocol, goes away in the middle."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
from click.testing import CliRunner

import vez
from tests.expectations import expect_no_error
from tests.locks.etcd.conftest import started
from tests.locks.etcd.faulty import port_of
from tests.proxy import Proxy
from vez import aio
from vez.cli.prune import prune
from vez.cli.status import status
from vez.errors import EngineUnavailable, MissingPart, Misuse, OwnershipLost
from vez.locks.engines.etcd.address import DEFAULT_PORT, PASSWORD, parse
from vez.locks.engines.etcd.codec import Codec
from vez.locks.engines.etcd.http import Exchange
from vez.locks.engines.etcd.router import Router
from vez.locks.engines.etcd.watching import Watching
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes.etcd.operations import KeepAlive, LeaseFor, LeaseGrant, Watch
from vez.testing.actors import PATIENCE, AsyncActor, SyncActor, eventually
from vez.testing.servers import EtcdServer, free_port


def ask(url: str, seconds: float = 5) -> None:
    with vez.connect(url) as client:
        client.lock("x").acquire(seconds).release()


def ask_in_a_task(url: str, seconds: float = 5) -> None:
    async def run() -> None:
        async with aio.connect(url) as client, client.lock("x", timeout=seconds):
            pass

    asyncio.run(run())


both = pytest.mark.parametrize("asking", [ask, ask_in_a_task])


@both
def test_an_absent_server(asking: Any) -> None:
    with pytest.raises(EngineUnavailable, match="no etcd server could be reached") as caught:
        asking(f"etcd://127.0.0.1:{free_port()},127.0.0.1:{free_port()}")
    assert caught.value.definite
    assert str(caught.value).count("refused") == 2


@both
def test_inspecting_an_absent_server(asking: Any) -> None:
    with vez.connect(f"etcd://127.0.0.1:{free_port()}") as client:
        with pytest.raises(EngineUnavailable, match="no etcd server could be reached"):
            client.inspect("x")
        with pytest.raises(EngineUnavailable, match="no etcd server could be reached"):
            client.break_lock("x", "a test")


class _Page(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def greeting(text: bytes, *, stays: bool = False) -> Iterator[int]:
    """A server that sends the same text to every client. With `stays` it then keeps the connection and is silent."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as kept:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with ExitStack() as now:
                    (kept if stays else now).enter_context(connection)
                    connection.recv(4096)
                    connection.sendall(text)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@both
@pytest.mark.parametrize("text", [b"SSH-2.0-OpenSSH_9.2\r\n", b"2", b"220 mail\r\n", b"\x15\x03\x01\x00\x02\x02"])
def test_another_protocol_that_waits_for_an_answer(asking: Any, text: bytes) -> None:
    """It is recognised by its first bytes; the client does not wait for more."""
    with (
        greeting(text, stays=True) as port,
        pytest.raises(EngineUnavailable, match="does not speak etcd's protocol: it begins with"),
    ):
        asking(f"etcd://127.0.0.1:{port}")


@both
def test_a_stranger_among_the_members_is_passed_over(asking: Any, etcd: EtcdServer) -> None:
    with greeting(b"SSH-2.0-OpenSSH_9.2\r\n") as port, greeting(b"220 mail\r\n") as other:
        asking(f"etcd://127.0.0.1:{port},{etcd.url.removeprefix('etcd://')}")
        with pytest.raises(EngineUnavailable, match="does not speak etcd's protocol"):
            asking(f"etcd://127.0.0.1:{port},127.0.0.1:{other}")


@both
def test_another_protocol(asking: Any) -> None:
    with (
        greeting(b"SSH-2.0-OpenSSH_9.2\r\n") as port,
        pytest.raises(EngineUnavailable, match="does not speak etcd's protocol") as caught,
    ):
        asking(f"etcd://127.0.0.1:{port}")
    assert "2379" in caught.value.hint


@both
def test_a_web_server(asking: Any) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(EngineUnavailable, match="does not speak etcd's protocol: it answered with status 404"):
            asking(f"etcd://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


DEEP = b"[" * 100_000


def page(text: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(text), text)


@both
@pytest.mark.parametrize("user", ["", "ada:word@"])
@pytest.mark.parametrize(
    "text",
    [
        page(b"{}"),
        page(b'{"header":{}}'),
        page(b'{"TTL":"10","ID":"7"}'),
        page(b"[]"),
        page(b"7"),
        page(DEEP),
        page(b'{"error":' + DEEP),
        page(DEEP, b"500 no"),
    ],
    ids=["empty", "no revision", "no header", "list", "number", "deep", "deep error", "deep status"],
)
def test_a_web_server_that_answers_with_json(asking: Any, text: bytes, user: str) -> None:
    """Nothing in such an answer may be taken for a lease."""
    with greeting(text) as port, pytest.raises(EngineUnavailable, match="does not speak etcd's protocol"):
        asking(f"etcd://{user}127.0.0.1:{port}")


@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_a_lease_of_no_time_is_not_etcds(seconds: str) -> None:
    body = b'{"header":{"revision":"1"},"ID":"7","TTL":"%s"}' % seconds.encode()
    with pytest.raises(ValueError, match="a lease of"):
        Codec().decode(LeaseGrant(7, 10), body)
    assert Codec().decode(KeepAlive(7), b'{"result":' + body + b"}") == LeaseFor(0)


@pytest.mark.parametrize("line", [DEEP, b'{"result":{"events":[{}]}}', b'{"result":{"created":true}}', b'{"result":7}'])
def test_a_line_that_no_watch_sends_ends_the_watch(line: bytes) -> None:
    exchange = Exchange()
    exchange.request("host", "/v3/watch", b"")
    exchange.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\n\r\n" % (len(line) + 1, line))
    watching = Watching(Router(parse("etcd://host")), exchange, Watch("x/1", 5))
    with pytest.raises(WatchEnded):
        watching.read(0.0)


def test_values_of_others_that_are_nested_deeply(etcd: EtcdServer, url: str) -> None:
    deep = '{"x":' + "[" * 20_000
    space = url.partition("?")[0].rpartition("/")[2]
    with vez.connect(url) as client:
        for key in (f"{space}/x/77", f"{space}/vez/breaks/lock/x/1"):
            etcd.ctl("put", key, deep)
        assert [who.label for who in client.inspect("x").holders] == ["not of vez"]
        assert client.lock("x").try_acquire() is None


@both
def test_a_server_that_goes_away_in_the_middle(etcd: EtcdServer, asking: Any) -> None:
    with Proxy() as proxy:
        route = proxy.route(("127.0.0.1", etcd.port))
        route.hold("back")
        with pytest.raises(EngineUnavailable, match="does not answer") as caught:
            asking(f"etcd://127.0.0.1:{port_of(route)}/gone", 0.5)
        assert not caught.value.definite
        assert "timed out" in str(caught.value)


@pytest.fixture(scope="module")
def guarded() -> Iterator[EtcdServer]:
    """A server with users: root, and ada, who may use keys below her/."""
    for server in started("system", "--auth-token-ttl", "1"):
        for words in (
            ("user", "add", "root:secret-word"),
            ("user", "grant-role", "root", "root"),
            ("user", "add", "ada:other-word"),
            ("role", "add", "hers"),
            ("role", "grant-permission", "hers", "--prefix=true", "readwrite", "hers/"),
            ("user", "grant-role", "ada", "hers"),
            ("auth", "enable"),
        ):
            server.ctl(*words)
        yield server


def with_user(server: EtcdServer, who: str, namespace: str = "hers") -> str:
    return f"etcd://{who}@{server.endpoint}/{namespace}"


@both
def test_a_wrong_password(guarded: EtcdServer, asking: Any) -> None:
    with pytest.raises(EngineUnavailable, match="refuses the user 'ada'") as caught:
        asking(with_user(guarded, "ada:wrong-word"))
    assert "wrong-word" not in str(caught.value)
    assert caught.value.definite
    with pytest.raises(EngineUnavailable, match="user"):
        asking(with_user(guarded, "ada"))
    with pytest.raises(EngineUnavailable, match="asks for a user"):
        asking(f"{guarded.url}/hers")


@both
def test_a_key_without_permission(guarded: EtcdServer, asking: Any) -> None:
    with pytest.raises(EngineUnavailable, match="denies this"):
        asking(with_user(guarded, "ada:other-word", "his"))
    asking(with_user(guarded, "ada:other-word"))
    asking(with_user(guarded, "root:secret-word", "his"))


@pytest.mark.parametrize("kind", [SyncActor, AsyncActor])
def test_a_permission_that_is_revoked_while_waiting(guarded: EtcdServer, kind: type[Any]) -> None:
    """The waiter can no longer remove its key. Its client ends the session, so the key goes with the lease."""
    words = "--user", "root:secret-word", "role"
    name = f"left/{kind.__name__}"
    guarded.ctl("--user", "root:secret-word", "user", "add", f"{kind.__name__}:a-word")
    guarded.ctl(*words, "add", kind.__name__)
    guarded.ctl(*words, "grant-permission", kind.__name__, "--prefix=true", "readwrite", name)
    guarded.ctl("--user", "root:secret-word", "user", "grant-role", kind.__name__, kind.__name__)
    holder = SyncActor(with_user(guarded, "root:secret-word", name))
    waiter = kind(with_user(guarded, f"{kind.__name__}:a-word", name) + "?lease=2")
    grant, other = holder.acquire("lock", "x"), waiter.acquire("lock", "y")
    waiting = waiter.queue_up("lock", "x", 2)
    guarded.ctl(*words, "grant-permission", kind.__name__, "--prefix=true", "read", name)
    with pytest.raises(
        EngineUnavailable, match=r"could not be removed: etcd at .* denies this|does not answer"
    ) as caught:
        waiting.result(PATIENCE)
    assert not caught.value.definite
    in_time = "denies this" in caught.value.message  # on a busy machine the answer may come after the clean-up was left
    assert in_time == ("read and write on the keys" in caught.value.hint)
    eventually(lambda: bool(other.lost), "the loss of what depends on the same lease")
    with pytest.raises(OwnershipLost, match=r"could not be removed: etcd at .* denies this" if in_time else "."):
        other.check()
    eventually(lambda: not holder.inspect("x").queue, "the end of the lease")
    holder.release(grant)
    holder.close()
    waiter.close()


def test_an_expired_token_is_renewed(guarded: EtcdServer) -> None:
    """The server forgets a token that was not used for a second. So calls and watches are refused meanwhile."""
    import time

    with vez.connect(with_user(guarded, "ada:other-word") + "?lease=60") as client:
        for _ in range(2):
            with client.lock("x"):
                time.sleep(2.5)  # the time of the server passes; nothing announces its end
        assert client.inspect("x").holders == ()


def test_a_password_is_shown_nowhere(guarded: EtcdServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    url = with_user(guarded, "ada:other-word")
    with vez.connect(url) as client, client.lock("x") as grant:
        shown = f"{client!r} {grant!r} {client.lock('x')!r} {parse(url)!r}"
        assert "other-word" not in shown
    hidden = tmp_path / "password"
    hidden.write_text("other-word\n")
    ask(with_user(guarded, "ada") + f"?password-file={hidden}")
    monkeypatch.setenv(PASSWORD, "other-word")
    ask(with_user(guarded, "ada"))


@pytest.mark.parametrize("words", [[status], [status, "--json"], [prune, "--json"]])
def test_a_command_does_not_show_the_password_of_its_url(guarded: EtcdServer, words: list[Any]) -> None:
    command, *options = words
    done = CliRunner().invoke(command, [*options, "--url", with_user(guarded, "ada:other-word")], standalone_mode=False)
    assert (done.exception, "ada:***@" in done.output, "other-word" in done.output) == (None, True, False)


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EtcdServer, Path]]:
    """A server with TLS that asks for certificates of clients."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name in ("server", "client"):
        made = authority.issue_cert("127.0.0.1", "localhost")
        made.private_key_pem.write_to_path(folder / f"{name}.key")
        for place, blob in enumerate(made.cert_chain_pems):
            blob.write_to_path(folder / f"{name}.pem", append=place > 0)
    options = (
        "--cert-file", str(folder / "server.pem"), "--key-file", str(folder / "server.key"),
        "--client-cert-auth", "--trusted-ca-file", str(folder / "ca.pem"),
    )  # fmt: skip
    for server in started("system", *options):
        yield server, folder


@both
def test_certificates_of_both_sides(secure: tuple[EtcdServer, Path], asking: Any) -> None:
    server, folder = secure
    mine = f"cert={folder}/client.pem&key={folder}/client.key"
    asking(f"etcd://localhost:{server.port}?ca={folder}/ca.pem&{mine}")
    with pytest.raises(EngineUnavailable) as caught:  # not our authority
        asking(f"etcd://localhost:{server.port}?tls=1&{mine}", 2)
    assert "?ca=" in caught.value.hint
    with pytest.raises(EngineUnavailable):  # no certificate of ours
        asking(f"etcd://localhost:{server.port}?ca={folder}/ca.pem", 2)
    with pytest.raises(EngineUnavailable, match=r"tls=1"):  # several attempts, of which a busy server cuts some
        asking(f"etcd://localhost:{server.port}", 4)


def test_tls_to_a_server_without_it(etcd: EtcdServer) -> None:
    with pytest.raises(EngineUnavailable, match="could be reached") as caught:
        ask(f"{etcd.url}?tls=1")
    assert "TLS" in caught.value.hint


@both
def test_a_user_where_there_are_none(etcd: EtcdServer, asking: Any) -> None:
    with pytest.raises(EngineUnavailable, match="not enabled") as caught:
        asking(f"etcd://ada:word@{etcd.endpoint}")
    assert "name no user" in caught.value.hint


@both
def test_a_host_that_nobody_knows(asking: Any) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        asking("etcd://nowhere.invalid:2379")
    assert "nowhere.invalid:2379: " in str(caught.value)
    assert "Unknown error" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("etcd:127.0.0.1", "not an etcd URL"),
        ("etcd://", "not an etcd URL"),
        ("etcd://host:port", "host:port"),
        ("etcd://host:0", "host:port"),
        ("etcd://a,,b", "host:port"),
        ("etcd://a\r\nX: y:1", "host:port"),
        ("etcd://a..b:2379", "'a..b:2379' where host:port"),
        ("etcd://.b", "host:port"),
        (f"etcd://{'a' * 300}", "host:port"),
        (f"etcd://host:{'9' * 5000}", "host:port"),
        ("etcd://host/\udcff", "not an etcd URL"),
        ("etcd://host?leese=3", "'leese'"),
        (f"etcd://host?lease={'9' * 5000}", "lease"),
        ("etcd://host?ca=%00", "cannot be used"),
        (f"etcd://user@host?password-file={sys.executable}", "not text"),
        ("etcd://user@host?password-file=%00", "cannot be read"),
        ("etcd://host?lease=0", "lease"),
        ("etcd://host?lease=soon", "lease"),
        ("etcd://:secret@host", "no user"),
        ("etcd://host/a//b", "empty part"),
        ("etcd://host?ca=/nowhere.pem", "/nowhere.pem"),
        ("etcd://user@host?password-file=/nowhere", "/nowhere"),
        ("etcd://host?password-file=/nowhere", "no user"),
        ("etcd://host?lease=5&lease=6", "twice"),
        ("etcd://host?key=/nowhere.pem", "no certificate"),
        ("etcd://host?tls=maybe", "'maybe'"),
        ("etcd://host?tls=0&ca=/nowhere.pem", "tls=0"),
        ("etcd://[::1", "host:port"),
        ("etcd://user:secret/word@host", "part of the password"),
        ("etcd://user:word?secret@host", "part of the password"),
    ],
)
def test_urls_that_say_nothing(url: str, what: str) -> None:
    with pytest.raises(Misuse, match=what) as caught:
        vez.connect(url)
    assert "secret" not in str(caught.value)


def test_what_a_url_says() -> None:
    address = parse("etcd://ada:p%40ss@h1:1,[::1]:2,h3/a/b?lease=7")
    assert [str(one) for one in address.endpoints] == ["h1:1", "[::1]:2", f"h3:{DEFAULT_PORT}"]
    assert [one.host for one in parse("etcd://a.example.,[fe80::1%eth0]:1").endpoints] == ["a.example.", "fe80::1%eth0"]
    assert (address.namespace, address.user, address.password()) == ("a/b/", "ada", "p@ss")
    assert address.lease_seconds == 7


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    with pytest.raises(MissingPart, match=r"vez\[etcd\]"):
        vez.connect("etcd://127.0.0.1")


@contextmanager
def silence() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@both
@pytest.mark.parametrize(
    "text", [b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"HTTP/1.1 404 no\r\nContent-Length: 2\r\n\r\nno"]
)
def test_a_web_server_among_the_members_is_passed_over(asking: Any, etcd: EtcdServer, text: bytes) -> None:
    with greeting(text) as port, greeting(text) as other:
        asking(f"etcd://127.0.0.1:{port},{etcd.url.removeprefix('etcd://')}")
        with pytest.raises(EngineUnavailable, match="does not speak etcd's protocol"):
            asking(f"etcd://127.0.0.1:{port},127.0.0.1:{other}")


@both
def test_a_silent_member_does_not_take_the_whole_time_of_a_request(asking: Any, etcd: EtcdServer) -> None:
    with silence() as port, expect_no_error("the five seconds of the request were spent on the silent member"):
        asking(f"etcd://127.0.0.1:{port},{etcd.url.removeprefix('etcd://')}")


@pytest.mark.parametrize("prefix", ["\U0010ffff", "a\U0010ffff", "\ud7ff", "\ud800", "\0", "é"])
def test_every_prefix_can_be_asked_for(etcd: EtcdServer, prefix: str) -> None:
    with vez.connect(f"{etcd.url}/prefixes") as client:
        assert client.locks(prefix) == []
        assert client.prune(prefix) == 0


def test_the_suggestion_of_tls_stays_when_a_later_attempt_only_times_out() -> None:
    router: Router[Any] = Router(parse("etcd://here:2379"))
    assert "tls=1" not in router.unanswered("here:2379: timed out", cut_off=False).why
    assert "tls=1" in router.unanswered("here:2379: closed", cut_off=True).why
    assert "tls=1" in router.unanswered("here:2379: timed out", cut_off=False).why
    router.contacted = True
    assert "tls=1" not in router.unanswered("here:2379: timed out", cut_off=False).why
