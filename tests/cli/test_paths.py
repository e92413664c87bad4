"""What a path that leads to no algorithm is told: what was found, and what was expected. No list of algorithms."""

from __future__ import annotations

from pathlib import Path

import pytest

from vez.cli.app import run

COMMANDS = ("sim", "check", "verify", "algorithms", "cluster --algorithm")


def make(folder: Path) -> None:
    (folder / "text.txt").write_text("words")
    (folder / "binary.py").write_bytes(bytes(range(256)))
    (folder / "folder.py").mkdir()
    (folder / "wrong.py").write_text("class A: pass\n")


@pytest.mark.parametrize(
    ("path", "words", "code"),
    [
        (".", ". is a folder", 65),
        ("..:Foo", ".. is a folder", 65),
        ("{}/", "{}/ is a folder", 65),
        ("{}/folder.py", "{}/folder.py is a folder", 65),
        ("{}/folder.py:Foo", "{}/folder.py is a folder", 65),
        ("{}/text.txt", "{}/text.txt is not a .py file", 65),
        ("{}/text.txt:Foo", "{}/text.txt is not a .py file", 65),
        ("{}/none.py:Foo", "there is no file {}/none.py", 66),
        ("{}/none", "there is no file {}/none, and", 66),
        ("nöne.txt", "there is no file nöne.txt, and", 66),
        ("{}/binary.py", "{}/binary.py", 65),
        ("{}/wrong.py", "{}/wrong.py defines no Process", 65),
        ("x" * 5000, "unknown algorithm", 64),
        ("{}/" + "x" * 5000, "there is no file", 66),
        ("é", "unknown algorithm", 64),
        (":", "unknown algorithm", 64),
        ("a\0b", "unknown algorithm", 64),
        ("{}/a\0b.py", "", 66),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_without_an_algorithm(
    command: str, path: str, words: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path)
    assert run([*command.split(), path.format(tmp_path)]) == code
    said = capsys.readouterr()
    assert said.out == ""
    message, *hint = said.err.splitlines()
    assert message.startswith(f"vez: {words.format(tmp_path)}")
    assert len(hint) <= 1
    if "folder" in words or "is not a .py" in words or "no file" in words:
        assert hint == ["     expected a name of `vez algorithms`, or a class of a Python file: path/to/file.py:Class"]
