"""The commands of `vez` as click has them, by group.

A command is a click command in a file of its own, named in `COMMANDS` under the group in which `vez --help`
shows it; the file is imported only when the command is used, so that `vez --help` stays fast. The click commands of
`vez run` and `vez status` are made from declarations (`parameters/declared.py`) when they are needed.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from vez import __version__
from vez.cli.printing.progress import Line
from vez.cli.program import EXIT_INTERRUPTED, Outcome, OutputClosed, Terminated, closing_pipes, main, run
from vez.errors import Misuse, UnknownName, is_near

__all__ = ["COMMANDS", "EXIT_INTERRUPTED", "Outcome", "OutputClosed", "Terminated", "app", "main", "run", "settle"]

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Take turns": {
        "run": ("vez.cli.run:run", "Run a command while holding a lock, a permit or a leadership."),
        "status": ("vez.cli.status:status", "Show who holds what, who waits, and for how long."),
        "break": ("vez.cli.break_lock:break_lock", "Take a lock from its holder by force."),
        "prune": ("vez.cli.prune:prune", "Remove what is kept of names that nobody uses."),
        "elect": ("vez.cli.elect:elect", "Stand as a candidate, and lead until interrupted."),
        "observe": ("vez.cli.observe:observe", "Print each new leader of an election."),
        "engines": ("vez.cli.engines:engines", "List where turns can be kept, and what each engine gives."),
        "doctor": ("vez.cli.doctor:doctor", "Look at a real engine: does it keep the contract here?"),
        "torture": ("vez.cli.torture:torture", "Test an engine: kill, pause and fork real workers, then judge."),
    },
    "Run for real": {
        "cluster": ("vez.cli.cluster:cluster", "Run an algorithm as real processes; judge, measure and draw the run."),
        "node": ("vez.cli.node:node", "Run one participant of an algorithm on sockets."),
        "serve": ("vez.cli.serve:serve", "Serve the pages of a folder on loopback, by one of five models."),
        "certs": ("vez.cli.certs:certs", "Make certificates for nodes on several hosts."),
    },
    "See how it works": {
        "algorithms": ("vez.cli.algorithms:algorithms", "List the algorithms: assumptions, guarantees, source."),
        "sim": ("vez.cli.sim:sim", "Run an algorithm in virtual time, with faults; judge, measure and draw it."),
        "check": ("vez.cli.check:check_command", "Explore every possible run; show a shortest run that goes wrong."),
        "verify": ("vez.cli.verify:verify_command", "Check all algorithms under every kind of fault."),
        "servers": ("vez.cli.servers:servers", "Compare five models of a server under real load."),
        "threads": ("vez.cli.threads:threads_command", "Run classic shared-memory programs on real threads."),
        "waterfall": ("vez.cli.waterfall:waterfall", "Fetch a page and its files one after the other and at once."),
        "state": ("vez.cli.state:state", "Measure what a server pays and gains if it remembers its clients."),
        "detectors": ("vez.cli.detectors:detectors", "Compare failure detectors: how fast, how often wrong."),
        "show": ("vez.cli.show:show", "Judge, measure and draw a saved trace."),
        "validate": (
            "vez.cli.validate:validate_command",
            "Check that a recorded run is one of the algorithm's runs.",
        ),
        "docs": ("vez.cli.docs:docs", "Print a page of the documentation."),
        "zoo": ("vez.cli.zoo:zoo", "Algorithms with one mistake each: find it."),
    },
    "Choose": {
        "compare": (
            "vez.cli.compare:compare",
            "Compare what algorithms cost and tolerate, with the formulas.",
        ),
        "quorum": ("vez.cli.quorum:quorum", "How large must a quorum be if coordinators may lose their memory?"),
        "timeout": ("vez.cli.timeout:timeout", "How long to wait before a silent process is taken for dead?"),
    },
}

LASTING = frozenset(("run", "status", "elect", "observe", "node", "serve"))
"""The commands that last until they are ended. They say themselves what they do; the others say when they take long."""
EXIT_BROKEN = 1
"""A property is broken, or a scenario did not end as expected."""
EXIT_UNDECIDED = 2
"""A search or a run ended before all that was asked could be judged; nothing was found broken."""


def settle(*, broken: bool, undecided: bool = False, interrupted: bool = False) -> int:
    """The exit code for what was found. Called before anything is printed, so that a closed pipe does not hide it.

    Broken wins: more searching could not change it.
    """
    code = EXIT_BROKEN if broken else EXIT_INTERRUPTED if interrupted else EXIT_UNDECIDED if undecided else 0
    outcome = click.get_current_context().find_object(Outcome)
    if outcome is not None:
        outcome.code = code
    return code


class App(click.Group):
    """A group that shows its commands by purpose and loads them when they are used."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        typed = next(iter(args), "")
        with closing_pipes():
            context = super().make_context(info_name, args, parent, **extra)
        context.meta["vez.command"] = typed
        return context

    def invoke(self, ctx: click.Context) -> Any:
        command = ctx.meta["vez.command"]
        with closing_pipes(), nullcontext() if command in LASTING else Line(command, live=False):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for group in COMMANDS.values():
            if cmd_name in group:
                module, attribute = group[cmd_name][0].split(":")
                command: click.Command = getattr(__import__(module, fromlist=(attribute,)), attribute)
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            from vez.cli.parameters import other_words

            if hint := other_words.command(args[0]):
                raise Misuse(f"unknown command {args[0]!r}", hint=hint)
            raise UnknownName("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, group in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in group.items()])


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="vez %(version)s")
def app() -> None:
    """Take turns with locks and leaders; simulate, check and draw the textbook algorithms behind them.

    Exit codes: 0 all is well, 1 a property is broken, 2 undecided, 64 wrong usage, 65 bad data, 66 no such file, 69
    engine unavailable, 70 a bug in vez (VEZ_DEBUG=1 shows where), 73 cannot write, 74 standard output failed, 75 not
    granted in time, 76 lock lost, 130 interrupted, 143 terminated.

    Commands that take long say on standard error what they do. VEZ_PROGRESS=none turns that off, for cron for example.
    """


def said_by_click(error: Exception) -> tuple[str, str, int] | None:
    """Message, hint and exit code of an error of click; None for other errors."""
    if isinstance(error, click.Abort):
        return "interrupted", "", EXIT_INTERRUPTED
    if isinstance(error, click.NoSuchOption):
        near = [name for name in error.possibilities or () if is_near(error.option_name, name)]
        message = error.message
        if error.ctx is not None:
            from vez.cli.parameters import other_words

            known = [name for one in error.ctx.command.params for name in one.opts]
            if found := other_words.option(error.option_name, known):
                message, near = f"{message} Did you mean {found!r}?", []  # click shows only similar words
        error = click.NoSuchOption(error.option_name, message, near, error.ctx)
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        return error.format_message(), f"try `{context.command_path if context else 'vez'} --help`", 64
    return None
