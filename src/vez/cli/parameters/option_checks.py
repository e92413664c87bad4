"""Checks of the given options: options without an effect are refused, and output files are checked before the work."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from vez.cli.parameters.declared import Given
from vez.errors import CannotWrite, Misuse


def given(parameter: str) -> bool:
    """True if the user typed this parameter of the running command."""
    return click.get_current_context().get_parameter_source(parameter) is ParameterSource.COMMANDLINE


def all_given() -> set[str]:
    """The parameters of the running command that the user typed."""
    return {parameter for parameter in click.get_current_context().params if given(parameter)}


def only_with(needed: str, present: bool, *parameters: str) -> None:
    """Refuse parameters that were given without the parameter that they need."""
    Given(all_given(), option).only_with(needed, present, *parameters)


def without_effect(present: str, *parameters: str) -> None:
    """Refuse parameters that have no effect because of another parameter."""
    Given(all_given(), option).without_effect(present, *parameters)


def not_together(*parameters: str) -> None:
    """Refuse parameters that exclude each other."""
    Given(all_given(), option).not_together(*parameters)


def deprecated(old: str, new: str) -> None:
    """Print that an old form still works, and the new form."""
    click.echo(f"vez: {old} is deprecated and will be removed in a later version; use {new}", err=True)


def option(parameter: str) -> str:
    """The parameter as users write it: its longest option, or the name of an argument."""
    command = click.get_current_context().command
    found = next(one for one in command.params if one.name == parameter)
    return max(found.opts, key=len) if isinstance(found, click.Option) else parameter.upper()


def renamed(old: str, new: str, hint: str = "") -> Callable[[Any], Any]:
    """An option that was renamed: it is refused, and the error gives the new name."""

    def refuse(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            raise Misuse(f"{old} is called {new} now", hint=hint or f"give {new} instead")

    return click.option(old, hidden=True, expose_value=False, is_eager=True, callback=refuse)


class OutputFile(click.Path):
    """A file to be written, checked before the work, not after it. With suffixes, only these are allowed."""

    name = "file"

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False)
        self.suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, if its suffix is known and its folder exists."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            raise Misuse(
                f"{path}: the suffix {path.suffix or '(none)'!r} is not the name of a format",
                hint=f"use a name that ends in {' or '.join(self.suffixes)}",
            )
        if not path.absolute().parent.is_dir():
            raise CannotWrite(
                f"cannot write {path}: there is no folder {path.parent}", hint=f"make the folder {path.parent} first"
            )
        return path
