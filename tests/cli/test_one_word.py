"""The options of the Python API and those of the command line: each has its word on the other side, or a reason.

Both sides are read from the signatures and the commands, so an option that is added to one of them fails here until it is
matched with the other, or listed as not applicable with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
import pytest

import vez
from vez.cli.app import app, run
from vez.cli.break_lock import break_lock
from vez.cli.doctor import doctor
from vez.cli.elect import elect
from vez.cli.observe import observe
from vez.cli.parameters import other_words
from vez.cli.parameters.clicked import made
from vez.cli.prune import prune
from vez.cli.run import RUN
from vez.cli.status import STATUS
from vez.locks.turns.client_base import Options

COMMANDS: dict[str, click.Command] = {
    "run": made(RUN), "status": made(STATUS), "break": break_lock, "elect": elect, "observe": observe, "prune": prune,
    "doctor": doctor,
}  # fmt: skip
KINDS = (vez.Client, vez.Lock, vez.Election, vez.Grant, vez.Leadership)

Matched = dict[str, tuple[str, ...] | str]

PYTHON: Matched = {
    "connect(url)": ("doctor URL", *(f"{command} --url" for command in COMMANDS if command != "doctor")),
    "timeout=": ("run --wait", "elect --wait"),
    "label=": ("run --label", "elect --label"),
    "lease=": ("run --lease", "elect --lease"),
    "at_least=": ("run --at-least",),
    "grace=": "`vez run` asks for the time that --kill-after needs, so that its command can end",
    "reentrant=": "a command is a process: it would acquire its lock again by starting itself, and that is refused",
    "on_wait=": ("run --json", "elect --json"),
    "on_acquired=": ("run --json", "elect --json"),
    "on_lost=": ("run --json", "elect --json"),
    "on_released=": ("run --json", "elect --json"),
    "lock(name)": ("run NAME",),
    "lock(shared)": ("run --shared",),
    "read_lock(name)": ("run --shared",),
    "write_lock(name)": ("run NAME",),
    "semaphore(name)": ("run --semaphore",),
    "semaphore(limit)": ("run --semaphore",),
    "election(name)": ("elect NAME", "run --leader"),
    "election(weight)": ("run --weight", "elect --weight"),
    "lock_all(names)": "`vez run a -- vez run b -- …`, in the same order everywhere; a cycle is refused",
    "lock_all(timeout)": "as for the names",
    "acquire(timeout)": ("run --wait", "elect --wait"),
    "try_acquire()": ("run --no-wait",),
    "if_free(function)": ("run --no-wait",),
    "every(period)": ("run --every",),
    "lead(work)": ("run COMMAND",),
    "lead(every)": "`vez run --leader` starts its command once in each term; `sleep` inside it makes the pauses",
    "observe(seconds)": ("observe --for",),
    "inspect(name)": ("status NAME",),
    "inspect(kind)": "`vez status NAME` shows all three kinds",
    "locks(prefix)": ("status --prefix",),
    "locks(kind)": "`vez status` shows all three kinds, with the kind in a column",
    "prune(prefix)": ("prune PREFIX",),
    "break_lock(name)": ("break NAME",),
    "break_lock(reason)": ("break --reason",),
    "break_lock(kind)": ("break --kind",),
    "measure()": "metrics are those of a program that runs on; a command prints its events with --json",
    "wait_lost(timeout)": ("elect --for",),
    "transfer(to)": "only the leader itself can do it, and a command that leads is busy; --weight prefers a candidate",
    "resign()": "the end of the command, or Ctrl-C",
    "release()": "the end of the command",
    "check()": "the command is ended when its lock is lost",
    "lifeline()": "`vez run` uses it for its keeper",
    "locked()": ("status NAME",),
    "close()": "the end of the command",
}
"""Each option and method of the API, with its words on the command line, or why it has none."""
SHELL: dict[str, str] = {
    "run --busy-code": "in Python a request that is not granted raises LockTimeout, which the program catches",
    "run --again": "in Python the decorated function itself can be called: report.__wrapped__()",
    "run --kill-after": "a thread cannot be killed, and a task is cancelled; grace= is the time for it",
    "run --quiet": "in Python nothing is printed",
    "status --all": "client.locks() lists all names",
    "status --watch": "a loop over client.inspect(name)",
    "status --interval": "as for --watch",
    "status --output": "a table is for people",
    "observe NAME": "the name of client.election(name), which has observe()",
    "observe --once": "next(election.observe()) is the present leader",
    "doctor --pairs": "a measurement of doctor; client.measure() measures real use",
}
"""Words of the command line that the API does not have, with the reason."""
JSON = {f"{command} --json" for command in COMMANDS}
"""Python has values where the commands print JSON."""
OTHER_WORDS = {
    ("semaphore(name)", "run --semaphore"): "one option for the kind and the limit: --semaphore N",
    ("semaphore(limit)", "run --semaphore"): "one option for the kind and the limit: --semaphore N",
    ("read_lock(name)", "run --shared"): "one option for the kind",
    ("election(name)", "run --leader"): "one option for the kind",
    ("on_wait=", "run --json"): "events are lines of JSON",
    ("on_wait=", "elect --json"): "events are lines of JSON",
    ("on_acquired=", "run --json"): "events are lines of JSON",
    ("on_acquired=", "elect --json"): "events are lines of JSON",
    ("on_lost=", "run --json"): "events are lines of JSON",
    ("on_lost=", "elect --json"): "events are lines of JSON",
    ("on_released=", "run --json"): "events are lines of JSON",
    ("on_released=", "elect --json"): "events are lines of JSON",
    ("try_acquire()", "run --no-wait"): "an option says how, a method what",
    ("if_free(function)", "run --no-wait"): "an option says how, a method what",
    ("every(period)", "run --every"): "the option is named after the method",
    ("lead(work)", "run COMMAND"): "the work of a shell is a command",
    ("observe(seconds)", "observe --for"): "as --for of elect: for so many seconds",
    ("wait_lost(timeout)", "elect --for"): "the leader resigns after that time, which is no timeout",
    ("locked()", "status NAME"): "the command shows who holds it",
}
"""Pairs whose words differ, with the reason."""


def python() -> Iterator[str]:
    """The options and methods of the API."""
    yield from (f"{option}=" for option in Options.__annotations__)
    yield from (f"connect({name})" for name in inspect.signature(vez.connect).parameters)
    for kind in KINDS:
        for name, method in inspect.getmembers(kind, callable):
            if name.startswith("_"):
                continue
            parameters = [
                one.name for one in inspect.signature(method).parameters.values()
                if one.name != "self" and one.kind is not one.VAR_KEYWORD
            ]  # fmt: skip
            yield from (f"{name}({parameter})" for parameter in parameters or [""])


def shell() -> dict[str, set[str]]:
    """The options and arguments of the commands, by their long names, each with all its names."""
    found = {}
    for command, made_of in COMMANDS.items():
        for one in made_of.params:
            names = [name.upper() for name in one.opts] if isinstance(one, click.Argument) else one.opts
            found[f"{command} {names[-1]}"] = set(names)
    return found


def test_every_option_of_the_api_has_its_word_on_the_command_line_or_a_reason() -> None:
    assert set(python()) == set(PYTHON), "add it to the commands, or a reason to PYTHON"


def test_every_word_of_the_command_line_is_in_the_api_or_has_a_reason() -> None:
    words = {word for match in PYTHON.values() if not isinstance(match, str) for word in match}
    assert words | set(SHELL) | JSON == set(shell()), "add it to the API, or a reason to SHELL"
    assert not words & set(SHELL)


def test_both_sides_use_the_same_word() -> None:
    options, differing = shell(), set()
    for word, match in PYTHON.items():
        own = word.rstrip("=)").rpartition("(")[2].replace("_", "-")
        for other in () if isinstance(match, str) else match:
            if not options[other] & {f"--{own}", own.upper()}:
                differing.add((word, other))
    assert differing == set(OTHER_WORDS), "use one word, or give a reason in OTHER_WORDS"


def test_reasons_are_sentences() -> None:
    given = [match for match in PYTHON.values() if isinstance(match, str)]
    for reason in (*given, *SHELL.values(), *OTHER_WORDS.values()):
        assert len(reason.split()) >= 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("lock nightly", "did you mean `vez run`?"),
        ("inspect nightly", "did you mean `vez status`?"),
        ("unlock nightly", "did you mean `vez break`?"),
        ("run --nonblock x -- true", "Did you mean '--no-wait'?"),
        ("run --limit 3 x -- true", "Did you mean '--semaphore'?"),
        ("run --ttl 3 x -- true", "Did you mean '--lease'?"),
        ("run --period 1d x -- true", "Did you mean '--every'?"),
        ("elect e --priority 3", "Did you mean '--weight'?"),
        ("status --endpoint localhost", "Did you mean '--url'?"),
        ("status --ttl 3", "No such option '--ttl'.\n"),
    ],
)
def test_the_first_try_ends_at_the_word_of_the_command(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 64
    assert words in capsys.readouterr().err


def test_every_other_word_leads_to_one_that_exists() -> None:
    options = {name for names in shell().values() for name in names}
    known = set(app.list_commands(click.Context(app)))
    assert set(other_words._COMMANDS.values()) <= known
    assert not known & set(other_words._COMMANDS)
    assert set(other_words._OPTIONS.values()) <= options
    assert not options & set(other_words._OPTIONS)
