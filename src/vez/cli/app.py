"""The `vez` command: groups, errors and exit codes.

A command is a click command in a file of its own, named in `COMMANDS` under the group in which `vez --help`
shows it; the file is imported only when the command is used, so that `vez --help` stays fast.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from vez import __version__
from vez.errors import UnknownName, VezError

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Take turns": {
        "run": ("vez.cli.run:run", "Run a command while holding a lock, a permit or a leadership."),
        "status": ("vez.cli.status:status", "Who holds what, who waits, and for how long."),
        "break": ("vez.cli.break_lock:break_lock", "Take a lock from its holder by force; recorded."),
        "elect": ("vez.cli.elect:elect", "Stand as a candidate, and lead until interrupted."),
        "observe": ("vez.cli.observe:observe", "Print each new leader of an election."),
        "torture": ("vez.cli.torture:torture", "Kill, pause and fork real workers of an engine; judge what happened."),
    },
    "See how it works": {
        "algorithms": ("vez.cli.algorithms:algorithms", "What exists: topology, assumptions, guarantees, source."),
        "sim": ("vez.cli.sim:sim", "Run an algorithm in virtual time, with faults; judge, measure and draw it."),
        "show": ("vez.cli.show:show", "Judge, measure and draw a saved trace."),
        "zoo": ("vez.cli.zoo:zoo", "Plausible mistakes, each with a run in which it shows: find it."),
    },
    "Choose": {
        "compare": (
            "vez.cli.compare:compare",
            "What every algorithm costs and tolerates, measured beside its formula.",
        ),
        "quorum": ("vez.cli.quorum:quorum", "How large must a quorum be, when coordinators may forget?"),
        "timeout": ("vez.cli.timeout:timeout", "How long to wait before the silent are taken for dead?"),
    },
}

EXIT_BROKEN = 1
"""A property is broken, or a scenario did not end as expected."""


class App(click.Group):
    """A group that shows its commands by purpose and loads them when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for group in COMMANDS.values():
            if cmd_name in group:
                module, attribute = group[cmd_name][0].split(":")
                command: click.Command = getattr(import_module(module), attribute)
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise UnknownName("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in group.items()])


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="vez %(version)s")
def app() -> None:
    """Whose turn is it? Locks, leaders, and every textbook algorithm of coordination.

    Exit codes: 0 all is well, 1 a property is broken, 64 wrong usage, 65 bad data, 66 no such file, 69 engine
    unavailable, 70 a bug in vez, 73 cannot write, 74 lock lost, 75 not granted in time, 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; every error is one line and a hint, never a traceback."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """The exit code of a command line."""
    try:
        result: Any = app.main(args=arguments, prog_name="vez", standalone_mode=False)
        sys.stdout.flush()
    except VezError as error:
        return _complain(error.message, error.hint, error.exit_code)
    except click.UsageError as error:
        hint = f"try `{error.ctx.command_path} --help`" if error.ctx else "try `vez --help`"
        return _complain(error.format_message(), hint, 64)
    except click.ClickException as error:
        return _complain(error.format_message(), "", 64)
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:  # `vez ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


def _complain(message: str, hint: str, code: int) -> int:
    click.echo(f"vez: {message}", err=True)
    if hint:
        click.echo(f"     {hint}", err=True)
    return code
