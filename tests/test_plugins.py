"""Plug-ins: a small package with an engine and an algorithm is built, installed and used; broken ones harm nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need

OFFLINE = ("No matching distribution found", "Could not find a version", "Failed to establish a new connection")
PROJECT = """
[build-system]
requires = ["hatchling>=1.21"]
build-backend = "hatchling.build"

[project]
name = "tiny-turns"
version = "1.5"

[project.entry-points."vez.engines"]
tiny = "tiny_turns.engine"
alone = "tiny_turns.alone"
absent = "tiny_turns.nowhere"
empty = "tiny_turns.nothing"
memory = "tiny_turns.nothing"

[project.entry-points."vez.algorithms"]
tiny-turn = "tiny_turns.turn:TinyTurn"
exits = "tiny_turns.exits:Class"
number = "tiny_turns.nothing:NUMBER"
token-ring = "tiny_turns.nothing:NUMBER"

[tool.hatch.build.targets.wheel]
packages = ["tiny_turns"]
"""
FILES = {
    "__init__.py": "",
    "nothing.py": "NUMBER = 5\n",
    "exits.py": "import sys\nsys.exit('two\\nlines')\n",
    "engine.py": '''
"""An engine that keeps its turns in memory, under URLs of its own."""

from vez.locks.engines import memory

TRAITS = memory.TRAITS
NEEDS = ""


def open_engine(url):
    return memory.open_engine("memory:" + url)


def open_async_engine(url):
    return memory.open_async_engine("memory:" + url)
''',
    "alone.py": '''
"""A wrong engine: every client has a space of its own, so nobody excludes anybody."""

from itertools import count

from vez.locks.engines import memory

TRAITS = memory.TRAITS
NEEDS = ""
numbers = count()


def open_engine(url):
    return memory.open_engine(f"memory:alone-{next(numbers)}")


def open_async_engine(url):
    return memory.open_async_engine(f"memory:alone-{next(numbers)}")
''',
    "turn.py": '''
"""Everybody gets in at once: right for one process, and for nobody else."""

from vez.core import Mutex, Property


class TinyTurn(Mutex):
    guarantees = (Property.EXCLUSION,)

    def on_want(self, io):
        io.enter()

    def on_done(self, io):
        pass
''',
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a command that finds the package, built as anybody would."""
    source, target = tmp_path_factory.mktemp("tiny"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "tiny_turns").mkdir()
    for name, text in FILES.items():
        (source / "tiny_turns" / name).write_text(text)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*command, "--target", target, source], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode and any(sign in done.stdout + done.stderr for sign in OFFLINE):
        need("a package index", "building in isolation downloads hatchling")
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(target), "COLUMNS": "200"}


def vez(environment: dict[str, str], *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vez", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=cwd, timeout=100)


def test_an_algorithm_of_another_package_is_simulated_checked_and_validated(
    environment: dict[str, str], tmp_path: Path
) -> None:
    run = vez(environment, "sim", "tiny-turn", "--want", "1@0+1", "--trace", "run.json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    checked = vez(environment, "check", "tiny-turn", "-n", "2", "--json")
    assert checked.returncode == 1, checked.stderr
    assert json.loads(checked.stdout)["properties"]["exclusion"]["status"] == "broken"
    assert vez(environment, "validate", "run.json", cwd=tmp_path).returncode == 0


def test_the_list_names_the_package_and_what_is_broken_in_one_line_each(environment: dict[str, str]) -> None:
    told = vez(environment, "algorithms", "--json")
    assert told.returncode == 0, told.stderr
    found = {one["name"]: one for one in json.loads(told.stdout)["plugins"]}
    assert found["tiny-turn"]["package"] == "tiny-turns 1.5"
    assert found["tiny-turn"]["summary"].startswith("Everybody gets in")
    assert found["exits"]["broken"] == (
        "the algorithm 'exits' of the package tiny-turns 1.5 cannot be used: SystemExit: two lines"
    )
    assert "found 5" in found["number"]["broken"]
    text = vez(environment, "algorithms").stdout
    assert "From other packages" in text
    assert "cannot be used: SystemExit: two lines" in text


def test_a_broken_algorithm_is_refused_in_one_line(environment: dict[str, str]) -> None:
    told = vez(environment, "sim", "number")
    assert told.returncode == 69
    assert told.stderr.splitlines()[0].startswith("vez: the algorithm 'number' of the package tiny-turns 1.5")


def test_what_vez_has_itself_comes_first(environment: dict[str, str]) -> None:
    assert vez(environment, "sim", "token-ring").returncode == 0


def test_an_unknown_name_offers_plug_ins_too(environment: dict[str, str]) -> None:
    told = vez(environment, "sim", "tiny-tur")
    assert (told.returncode, told.stderr.splitlines()[1].strip()) == (64, "did you mean tiny-turn?")


def test_an_engine_of_another_package_takes_turns(environment: dict[str, str]) -> None:
    program = (
        "import asyncio, vez\n"
        "with vez.connect('tiny:a') as client, client.lock('x', timeout=5) as grant: print(grant.token)\n"
        "async def main():\n"
        "    async with vez.aio.connect('tiny:a') as client, client.lock('x', timeout=5) as grant: print(grant.token)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["1", "2"], "")


def test_the_list_of_engines_names_the_package_and_what_is_broken(environment: dict[str, str]) -> None:
    told = vez(environment, "engines", "--json")
    assert told.returncode == 0, told.stderr
    found = {one["scheme"]: one for one in json.loads(told.stdout)["engines"]}
    assert (found["memory"]["package"], found["tiny"]["package"]) == ("vez", "tiny-turns 1.5")
    assert "No module named 'tiny_turns.nowhere'" in found["absent"]["broken"]
    assert found["empty"]["broken"].endswith(
        "cannot be used: its provider has no TRAITS, NEEDS, open_engine, open_async_engine"
    )
    text = vez(environment, "engines").stdout
    assert "tiny:" in text
    assert "cannot be used: ModuleNotFoundError" in text


@pytest.mark.parametrize("scheme", ["absent", "empty"])
def test_a_broken_engine_is_refused_in_one_line(environment: dict[str, str], scheme: str) -> None:
    for arguments in (("status", "--url", f"{scheme}:x"), ("engines", scheme)):
        told = vez(environment, *arguments)
        assert told.returncode == 69
        assert told.stderr.splitlines()[0].startswith(f"vez: the engine '{scheme}' of the package tiny-turns 1.5")


def test_an_unknown_engine_offers_what_there_is(environment: dict[str, str]) -> None:
    told = vez(environment, "engines", "tine")
    assert (told.returncode, told.stderr.splitlines()[1].strip()) == (64, "did you mean tiny?")


def conformance(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vez.testing", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_the_suite_runs_on_any_engine(environment: dict[str, str]) -> None:
    done = conformance(environment, "tiny:suite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "who can take part: threads and tasks of one process" in done.stdout
    assert " passed in " in done.stdout


def test_the_suite_notices_an_engine_that_excludes_nobody(environment: dict[str, str]) -> None:
    chosen = "test_one_inside_and_the_other_waits or test_timeout_leaves_nothing_behind"
    done = conformance(environment, "alone:", "-k", chosen, "-x")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_one_inside_and_the_other_waits" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 64, "usage: python -m vez.testing URL"),
        (("nowhere:x",), 64, "vez: unknown engine 'nowhere'"),
        (("absent:x",), 69, "vez: the engine 'absent' of the package tiny-turns 1.5 cannot be used"),
        (("etcd://127.0.0.1:1",), 69, "vez: no etcd server could be reached: 127.0.0.1:1: Connection refused"),
    ],
)
def test_the_suite_refuses_what_is_no_engine(
    environment: dict[str, str], arguments: tuple[str, ...], code: int, told: str
) -> None:
    done = conformance(environment, *arguments, *(("--co",) if arguments else ()))
    assert done.stdout == ""
    assert (done.returncode, done.stderr.splitlines()[0][: len(told)]) == (code, told)


BROKEN = """
from types import SimpleNamespace
from vez.locks.engines.memory import TRAITS, open_async_engine, open_engine


def fails(url):
    raise ZeroDivisionError("in its own code")


class Moody:
    NEEDS, open_engine, open_async_engine = "", fails, fails

    @property
    def TRAITS(self):
        raise ValueError("no traits")


moody = Moody()
traits = SimpleNamespace(TRAITS={}, NEEDS="", open_engine=fails, open_async_engine=fails)
needs = SimpleNamespace(TRAITS=TRAITS, NEEDS=None, open_engine=fails, open_async_engine=fails)
opens = SimpleNamespace(TRAITS=TRAITS, NEEDS="", open_engine=fails, open_async_engine=fails)
nothing = SimpleNamespace(TRAITS=TRAITS, NEEDS="", open_engine=lambda url: None, open_async_engine=open_engine)
lacks = SimpleNamespace(TRAITS=TRAITS, NEEDS="absent-turns[more]", open_engine=open_engine, open_async_engine=open_engine)
"""
REASONS = {
    "moody": "ValueError: no traits",
    "traits": "its provider has a wrong TRAITS",
    "needs": "its provider has a wrong NEEDS",
    "opens": "ZeroDivisionError: in its own code",
    "nothing": "its provider opened None where an Engine is expected",
}


def installed(folder: Path, name: str, entries: str) -> dict[str, str]:
    """The environment of a command that finds a package with these entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "COLUMNS": "200"}


def test_a_provider_that_is_wrong_is_one_line_for_threads_and_for_tasks(tmp_path: Path) -> None:
    (tmp_path / "broken_turns.py").write_text(BROKEN)
    schemes = [*REASONS, "lacks"]
    lines = "".join(f"{scheme} = broken_turns:{scheme}\n" for scheme in schemes)
    there = installed(tmp_path, "broken", f"[vez.engines]\n{lines}")
    listed = json.loads(vez(there, "engines", "--json").stdout)["engines"]
    assert [one["scheme"] for one in listed][-len(schemes) :] == sorted(schemes)
    assert next(one for one in listed if one["scheme"] == "lacks")["missing"] == ["absent-turns"]
    program = (
        "import vez, vez.aio\n"
        f"for scheme in {list(REASONS)}:\n"
        "    for connect in (vez.connect, vez.aio.connect):\n"
        "        try: connect(scheme + ':x')\n"
        "        except vez.VezError as error: print(type(error).__name__, error.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=there, capture_output=True, text=True, check=False, timeout=60
    )
    told = done.stdout.splitlines()
    assert len(told) == 2 * len(REASONS), done.stderr
    for number, (scheme, reason) in enumerate(REASONS.items()):
        assert (
            told[2 * number] == f"BrokenPlugin the engine {scheme!r} of the package broken 1.0 cannot be used: {reason}"
        )
        assert told[2 * number + 1].startswith(f"BrokenPlugin the engine {scheme!r} of the package broken 1.0")


def test_a_list_of_entry_points_that_cannot_be_read_harms_nobody(tmp_path: Path) -> None:
    installed(tmp_path, "good", "[vez.engines]\nkind = vez.locks.engines.memory\n")
    there = installed(tmp_path, "torn", "[vez.engines]\nhalf a line\n")
    told = vez(there, "engines", "--json")
    assert told.returncode == 0
    assert "kind" in [one["scheme"] for one in json.loads(told.stdout)["engines"]]
    assert [line for line in told.stderr.splitlines() if "torn-1.0" in line] == told.stderr.splitlines()[:1]
