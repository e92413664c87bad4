"""`vez serve` and `vez servers`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.dispositions import ignoring
from vez.cli.app import run

Vez = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def vez(capsys: pytest.CaptureFixture[str]) -> Vez:
    def call(line: str) -> tuple[int, str, str]:
        code = run(line.split())
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_the_list_names_every_experiment_and_its_options(vez: Vez) -> None:
    code, out, _ = vez("servers")
    assert code == 0
    for name in ("load", "two-clients", "full-queue", "pool-size", "lost-updates"):
        assert name in out
    assert "--work" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("servers lod", "unknown experiment 'lod'"),
        ("servers two-clients --seconds 1", "--seconds: not for two-clients"),
        ("servers --clients 4", "--clients: not for the list"),
        ("servers full-queue --clients 1,2", "full-queue takes one number of clients"),
        ("servers load --clients 1,x", "'1,x' is not a list of whole numbers"),
        ("servers load --clients 1000", "1000 clients: expected 1 to 256"),
        ("servers load --models poool", "unknown model 'poool'"),
        ("serve . --host 0.0.0.0 --port 0", "0.0.0.0 is not a loopback address"),
        ("serve . --model pool --threads 4 --most-threads 2", "--most-threads is smaller than --threads"),
        ("serve . --model single --threads 4", "--threads has no effect with --model single"),
        ("serve . --model single --queue 4", "--queue has no effect with --model single"),
        ("serve . --model single --full refuse", "--full has no effect with --model single"),
        ("serve . --model thread-per-request --queue 4", "--queue has no effect with --model thread-per-request"),
        ("serve . --model loop --most-threads 20", "--most-threads has no effect without --model pool"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(vez: Vez, line: str, message: str) -> None:
    handler = signal.getsignal(signal.SIGINT)
    code, out, err = vez(line)
    assert (code, out) == (64, "")
    assert message in err.splitlines()[0]
    assert signal.getsignal(signal.SIGINT) is handler  # a program that calls it from Python keeps its Ctrl-C handler


def test_a_folder_that_does_not_exist_is_told(vez: Vez) -> None:
    assert vez("serve nowhere")[0] == 66


def test_an_experiment_writes_pages_pictures_and_tables(vez: Vez, tmp_path: Path) -> None:
    code, out, _ = vez(f"servers two-clients --models single -o {tmp_path / 'a.html'}")
    assert code == 0
    assert "Two clients, one server" in out
    page = (tmp_path / "a.html").read_text()
    assert page.count("<svg") == 1
    assert "<script" not in page
    code, out, _ = vez(f"servers lost-updates --models single,single --clients 2 --json -o {tmp_path / 'b.md'}")
    found = json.loads(out)["found"]
    assert [(one["locked"], one["lost"]) for one in found] == [(False, 0), (True, 0)]
    assert (tmp_path / "b.md").read_text().startswith("| model | lock |")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_and_stops_when_told(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "index.html").write_text("hello")
    with subprocess.Popen(
        [sys.executable, "-m", "vez", "serve", str(tmp_path), "--port", "0", "--model", "pool"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=20) as page:  # noqa: S310  # our own server
            assert page.read() == b"hello"
        process.send_signal(number)
        _, log = process.communicate(timeout=20)
        assert process.returncode == 0
    assert "serving at http://127.0.0.1:" in log
    assert "1 requests, 1 answered" in log


def test_a_server_that_was_started_with_sigint_ignored_ends_by_sigterm_alone(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("hello")
    serve = [sys.executable, "-m", "vez", "serve", str(tmp_path), "--port", "0"]
    process = subprocess.Popen(ignoring("INT", *serve), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        with urllib.request.urlopen(url, timeout=20) as page:  # noqa: S310  # our own server
            assert page.read() == b"hello"
        process.terminate()
        _, log = process.communicate(timeout=20)
    finally:
        process.kill()
        process.communicate(timeout=20)
    assert (process.returncode, "1 requests, 1 answered" in log) == (0, True)


@pytest.mark.parametrize("line", ["serve .", "servers load"])
def test_without_h11_one_line_says_what_to_install(line: str) -> None:
    program = f"import sys; sys.modules['h11'] = None; from vez.cli.app import main; main({line.split()!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr.splitlines() == [
        "vez: servers need h11, which is not installed",
        "     pip install 'vez[serving]', or '.[serving]' in a clone",
    ]


@pytest.mark.parametrize("model", ["pool", "loop"])
def test_a_server_without_descriptors_closes_idle_connections_and_goes_on(model: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("hello")
    serve = [sys.executable, "-m", "vez", "serve", str(tmp_path), "--port", "0", "--model", model]
    with subprocess.Popen(
        ["sh", "-c", 'ulimit -n 24; exec "$@"', "sh", *serve],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        address = ("127.0.0.1", int(url.rstrip("/").rpartition(":")[2]))
        with ExitStack() as held:
            for _ in range(40):
                held.enter_context(socket.create_connection(address, 20))
            with urllib.request.urlopen(url, timeout=20) as page:  # noqa: S310  # our own server
                assert page.read() == b"hello"
        process.terminate()
        _, log = process.communicate(timeout=20)
        assert process.returncode == 0
    assert "cannot accept: Too many open files" in log
    assert "evicted" in log
