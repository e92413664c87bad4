"""The how-to about several machines: its own commands, on loopback and in network namespaces."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.worlds.node.processes import Running

PAGE = (ROOT / "docs/how-to/run-a-group-on-several-machines.md").read_text()
BLOCKS = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, body in BLOCKS if kind in ("sh", "console") for line in body.splitlines()]
VEZ = [sys.executable, "-m", "vez"]


def commands(word: str) -> list[list[str]]:
    """The arguments of the commands of the page that begin with `vez WORD`."""
    found = [shlex.split(line.removeprefix("$ "))[1:] for line in COMMANDS if f"vez {word} " in line]
    assert found, f"the page has no vez {word}"
    return found


def run(*command: str, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def on_loopback(stack: ExitStack, group: str) -> tuple[str, Callable[[int], list[str]]]:
    """The group with free ports of loopback, and an empty command prefix for each node."""
    for node in (1, 2, 3):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            group = group.replace(f"192.0.2.{node}:7400", f"127.0.0.1:{free.getsockname()[1]}")
    return group, lambda node: []


def end(node: Running) -> None:
    if node.process.poll() is None:
        node.kill()


@contextmanager
def namespace(name: str) -> Iterator[None]:
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        pytest.skip(f"no network namespaces here: {done.stderr.strip()}")
    try:
        yield
    finally:
        run("ip", "netns", "del", name)


def in_namespaces(stack: ExitStack, group: str) -> tuple[str, Callable[[int], list[str]]]:
    """Three hosts and a switch between them; the addresses are those of the page."""
    if os.geteuid() or not any(Path(place, "ip").exists() for place in ("/sbin", "/usr/sbin", "/usr/bin")):
        pytest.skip("network namespaces need root and iproute2")
    mine = f"vez{os.getpid() % 100_000}"
    switch = f"{mine}s"
    stack.enter_context(namespace(switch))
    run("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
    run("ip", "-n", switch, "link", "set", "switch", "up")
    for node in (1, 2, 3):
        host = f"{mine}h{node}"
        stack.enter_context(namespace(host))
        port = ["port", "netns", host, "type", "veth", "peer", "name", f"p{node}"]
        run("ip", "-n", switch, "link", "add", *port)
        run("ip", "-n", switch, "link", "set", f"p{node}", "master", "switch", "up")
        run("ip", "-n", host, "address", "add", f"192.0.2.{node}/24", "dev", "port")
        run("ip", "-n", host, "link", "set", "port", "up")
        run("ip", "-n", host, "link", "set", "lo", "up")
    return group, lambda node: ["ip", "netns", "exec", f"{mine}h{node}"]


@pytest.mark.parametrize("place", [on_loopback, in_namespaces])
def test_the_commands_of_the_page_take_turns_between_hosts(
    tmp_path: Path, place: Callable[[ExitStack, str], tuple[str, Callable[[int], list[str]]]]
) -> None:
    with ExitStack() as stack:
        group, prefix = place(stack, next(body for kind, body in BLOCKS if kind == "toml"))
        (tmp_path / "demo.toml").write_text(group)
        run(*VEZ, *commands("certs")[0], folder=tmp_path)
        nodes = []
        for number, arguments in enumerate(commands("node"), 1):
            nodes.append(Running(arguments[1:], {}, folder=tmp_path, before=prefix(number)))
            stack.callback(end, nodes[-1])
        for node in nodes:
            for _ in range(2):
                node.event("linked")
        begin = time.monotonic()
        for node in nodes[:2]:
            node.do("want 300")
        for node in nodes[:2]:
            node.event("left")
        assert time.monotonic() - begin >= 0.6, "one after the other"
        for node in nodes:
            node.do("stop")
            assert node.close() == (0, "")
        shown = run(*VEZ, *commands("show")[0], folder=tmp_path)
        assert "2 entries, no two at once" in shown
        assert run(*VEZ, *commands("validate")[0], folder=tmp_path).startswith("possible")
