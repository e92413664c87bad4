"""Commands that are read without click: a plain command line means the same in both ways, or click reads it."""

from __future__ import annotations

import random
from typing import Any

import click
import pytest

from vez.cli.parameters.clicked import made
from vez.cli.parameters.declared import Declared, Option, parse
from vez.cli.program import QUICK
from vez.cli.run import RUN
from vez.cli.status import STATUS
from vez.errors import VezError

LINES = 6000
VALUES = (
    "", "0", "1", "5", "007", "255", "256", "3000", "3001", "1.5", ".5", "5.", "1e3", "-1", "-0.5", "+1", " 1", "1_0",
    "nan", "inf", "x", "x y", "-", "--", "--json", "-q", "file:///tmp", "٣", "1" * 20, "a=b", "=", "table.txt",
)  # fmt: skip
WORDS = ("x", "nightly", "true", "sh", "-c", "-", "", "--", "-x", "--help", "-h", "--unknown", "--no", "-qq", "-o")


def one_word(command: Declared, choose: random.Random) -> list[str]:
    """Something that may stand on a command line: mostly an option of the command, in one of its forms."""
    if choose.random() < 0.35:
        return [choose.choice(WORDS[:4] if choose.random() < 0.7 else WORDS)]
    option = choose.choice(command.options)
    name = choose.choice(option.names)
    plain = option.kind == "flag" if choose.random() < 0.9 else option.kind != "flag"
    if plain:
        return [name]
    value = choose.choice(VALUES)
    return [f"{name}={value}"] if choose.random() < 0.4 else [name, value]


def line_for(command: Declared, choose: random.Random) -> list[str]:
    words = [word for _ in range(choose.randrange(4)) for word in one_word(command, choose)]
    if command.runs:
        words += ["x"] if choose.random() < 0.9 else []
        words += [word for _ in range(choose.randrange(2)) for word in one_word(command, choose)]
        words += (["--"] if choose.random() < 0.7 else []) + choose.choice((["true"], ["sh", "-c", "--", "-q"], []))
    return words


def read_by_click(command: Declared, words: list[str]) -> tuple[dict[str, Any], set[str]] | None:
    """The values, and which of them were typed; None if click refuses the line or prints something instead."""
    try:
        context = made(command).make_context("vez", list(words), resilient_parsing=False)
    except (click.ClickException, click.exceptions.Exit, VezError):
        return None
    source = click.core.ParameterSource.COMMANDLINE
    return context.params, {name for name in context.params if context.get_parameter_source(name) is source}


@pytest.mark.parametrize("command", [RUN, STATUS], ids=["run", "status"])
def test_what_is_read_without_click_is_what_click_reads(command: Declared) -> None:
    choose = random.Random(12)
    understood = refused = 0
    for _ in range(LINES):
        words = line_for(command, choose)
        mine, theirs = parse(command, words), read_by_click(command, words)
        if mine is None:
            refused += theirs is None
            continue
        understood += 1
        assert theirs is not None, words
        assert (mine.values, set(mine.given.typed)) == theirs, words
        assert [type(value) for value in mine.values.values()] == [type(theirs[0][name]) for name in mine.values], words
    assert understood > LINES / 20
    assert refused > LINES / 20


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (RUN, "x true"), (RUN, "x -- true"), (RUN, "-q --wait 5 x -- sh -c true"), (RUN, "x --no-wait -- true"),
        (RUN, "--url=file:///tmp x true -q"), (RUN, "--semaphore 3 --kill-after=0.5 x -- true --wait 1"),
        (STATUS, ""), (STATUS, "x"), (STATUS, "x --json"), (STATUS, "--all --url file:///tmp"),
    ],
)  # fmt: skip
def test_ordinary_lines_are_read_without_click(command: Declared, line: str) -> None:
    assert parse(command, line.split()) is not None


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (RUN, ""), (RUN, "x"), (RUN, "--help"), (RUN, "x -q true"), (RUN, "--wait x true"), (RUN, "--wait -1 x true"),
        (RUN, "--no-wait=1 x true"), (RUN, "--wai 1 x true"), (RUN, "--busy-code 256 x true"), (RUN, "-qq x true"),
        (RUN, "--url -- x true"), (STATUS, "x y"), (STATUS, "-o a.txt"), (STATUS, "--interval 0.01"), (STATUS, "-h"),
    ],
)  # fmt: skip
def test_other_lines_are_left_to_click(command: Declared, line: str) -> None:
    assert parse(command, line.split()) is None


def test_the_comparison_can_fail() -> None:
    """A parser that took a flag for an option with a value would be noticed."""
    wrong = RUN._replace(options=(Option(("--shared",), "shared", "", "text"), *RUN.options[1:]))
    words = ["--shared", "x", "true", "false"]
    mine, theirs = parse(wrong, words), read_by_click(RUN, words)
    assert mine is not None
    assert theirs is not None
    assert mine.values != theirs[0]


def test_every_quick_command_has_its_declaration() -> None:
    for module, name in QUICK.values():
        assert isinstance(getattr(__import__(module, fromlist=(name,)), name), Declared)
