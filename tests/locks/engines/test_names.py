"""Names of any script, on every engine and in the commands."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vez
import vez.aio
from vez.errors import Misuse
from vez.locks.engines.file.mapped_file import file_name
from vez.locks.engines.names import MAX_LENGTH, check_name

NAMES = ("relatório/diário", "夜间任务", "Ωμέγα:1", "दैनिक", "تقرير@2", "مهمة-٣", "é" * 100, "夜" * 66, "a" * 200)


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, home: Path) -> str:
    return f"file://{home}" if request.param == "file" else f"memory:{home.parent.name}"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_script_is_locked_listed_and_broken(url: str, name: str) -> None:
    with vez.connect(url) as client:
        with client.lock(name) as grant, client.semaphore(name, 2), client.election(name):
            assert client.locks() == client.locks(name[:2]) == [name]
            assert client.locks(kind="semaphore") == client.locks(kind="election") == [name]
            assert client.inspect(name).holders[0].token == grant.token
        held = client.lock(name).acquire()
        record = client.break_lock(name, "test")
        assert record is not None
        assert record.name == name
        assert client.inspect(name).breaks == (record,)
        assert held.lost

    async def with_tasks() -> None:
        async with vez.aio.connect(url) as tasks, tasks.lock(name):
            assert await tasks.engine.names() == [name]

    asyncio.run(with_tasks())


@pytest.mark.parametrize(
    "name",
    [
        "a b", "a\u00a0b", "a\nb", "a\0b", "a\u200bb", "a\u200db", "a\ud800", "\ud800", "a~b", "a%b", "-a", ".a", "/a",
        "\u0301a", "e\u0301", "\ufb01" + "e\u0301", "a²", "🔒", "é" * 101, "a" * 201, "夜" * 67, "a\u202eb", "",
        "a\ufe0f", "\u3164", "a\u3164", "a\u20e3",
    ],
)  # fmt: skip
def test_what_is_not_a_name_is_refused(name: str) -> None:
    with pytest.raises(Misuse) as caught:
        check_name(name)
    str(caught.value).encode()  # it can be printed


def test_another_spelling_of_a_name_says_how_to_write_it() -> None:
    with pytest.raises(Misuse, match="NFC") as caught:
        check_name("cafe\u0301")
    assert "unicodedata.normalize" in caught.value.hint
    assert check_name(unicodedata.normalize("NFC", "cafe\u0301")) == "café"


@given(st.text(max_size=90))
def test_what_is_accepted_has_a_short_file_name_of_its_own(text: str) -> None:
    try:
        check_name(text)
    except Misuse:
        return
    assert len(text.encode()) <= MAX_LENGTH
    assert text == unicodedata.normalize("NFC", text)
    assert file_name("semaphore", text).isascii()
    assert len(file_name("semaphore", text)) <= 255


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_the_commands_know_them(home: Path, locale: str) -> None:
    environment = {**os.environ, "VEZ_URL": f"file://{home}", "LC_ALL": locale}

    def command(*words: str) -> str:
        words = (sys.executable, "-m", "vez", *words)
        return subprocess.run(words, env=environment, capture_output=True, check=True, timeout=60).stdout.decode()

    program = "import os, subprocess, sys; sys.exit(subprocess.call([sys.executable, '-m', 'vez', 'status', '--json']))"
    found = json.loads(command("run", "relatório", "--", sys.executable, "-c", program))
    assert [name["name"] for name in found["names"]] == ["relatório"]
    assert "relatório" in command("status", "--all")
    assert "relatório" in command("status", "relatório")
    assert command("prune", "rel") == "removed 1 idle name, 0 left\n"
