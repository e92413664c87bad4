"""Declared commands as click has them: for help, errors, completion, and command lines that are not plain."""

from __future__ import annotations

from functools import cache
from typing import Any

import click

from vez.cli.parameters.declared import Declared, Given, Option, is_marked
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, all_given, option
from vez.errors import Misuse


class RunCommand(click.Command):
    """Options end where COMMAND begins, so that the options of COMMAND reach it."""

    declared: Declared

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        marked = ctx.meta["vez.marked"] = is_marked(self.declared, args)
        ctx.allow_interspersed_args = marked  # only then it is clear which words after NAME are ours
        return super().parse_args(ctx, args)


@cache
def made(command: Declared) -> click.Command:
    """The click command of a declaration."""

    def call(**values: Any) -> int:
        if command.runs:
            _refuse_unmarked(command, values["command"])
        return command.function(Given(all_given(), option), **values)

    words: list[click.Parameter] = [click.Argument(["name"], required=command.runs)]
    if command.runs:
        words.append(click.Argument(["command"], nargs=-1, required=True, type=click.UNPROCESSED))
    made_of = (RunCommand if command.runs else click.Command)(
        command.name,
        callback=call,
        params=[*words, *map(_option, command.options)],
        help=command.function.__doc__,
        short_help=command.summary,
    )
    if isinstance(made_of, RunCommand):
        made_of.declared = command
    return made_of


def _refuse_unmarked(command: Declared, words: tuple[str, ...]) -> None:
    if words[0].startswith("-") and not click.get_current_context().meta["vez.marked"]:
        raise Misuse(
            f"{words[0]} stands after NAME, where COMMAND begins",
            hint=f"vez {command.name} {words[0]} … NAME -- COMMAND",
        )


def _option(one: Option) -> click.Option:
    common: dict[str, Any] = {"help": one.help, "metavar": one.metavar, "show_default": one.show_default}
    if one.kind == "flag":
        return click.Option([*one.names, one.parameter], is_flag=True, **common)
    return click.Option([*one.names, one.parameter], type=_type(one), default=one.default, **common)


def _type(one: Option) -> click.ParamType[Any] | None:
    if one.kind == "number":
        return Number(one.least, one.most)
    if one.kind == "whole":
        bounds = (None if one.least is None else int(one.least), None if one.most is None else int(one.most))
        return click.INT if bounds == (None, None) else click.IntRange(*bounds)
    return OutputFile(*one.suffixes) if one.kind == "file" else None
