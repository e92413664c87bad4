"""Programs of threads by name: those of the catalogue, and functions in a user's file."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from vez.cli.output import console, print_json
from vez.cli.tables import Column, print_table
from vez.errors import BadData, MissingFile, Misuse, UnknownName, VezError
from vez.sim.blame import blame_function
from vez.threads import Program
from vez.threads.programs import PROGRAMS

Listed = Mapping[str, tuple[str, Sequence[str]]]
"""By name: what a program does, and how its settings are given."""


def programs() -> dict[str, tuple[str, Sequence[str]]]:
    """The programs of the catalogue."""
    return {name: (_first_line(maker), _settings(maker)) for name, maker in PROGRAMS.items()}


def print_programs(listed: Listed, command: str, *, as_json: bool) -> None:
    """Print the programs, what each does, and its settings."""
    if as_json:
        print_json({name: {"does": does, "settings": settings} for name, (does, settings) in listed.items()})
        return
    rows = [(name, escape(does), escape("\n".join(settings))) for name, (does, settings) in listed.items()]
    out = console()
    print_table(out, [Column("program"), Column("what it does"), Column("settings")], rows)
    out.print(f"run one: {command}", soft_wrap=True)


def _first_line(maker: Callable[..., Any]) -> str:
    return (inspect.getdoc(maker) or "").partition("\n")[0]


def _settings(maker: Callable[..., Any]) -> list[str]:
    defaults = {name: parameter.default for name, parameter in inspect.signature(maker).parameters.items()}
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in defaults.items()}
    return [f"--set {name}={word}" for name, word in words.items()]


def load_program(name: str, settings: dict[str, Any], others: Iterable[str] = ()) -> Program:
    """A program by its name in the list, or a function of your own: path/to/file.py:function.

    `others` are names that the command knows beside these.
    """
    path, colon, function = name.rpartition(":")
    if colon and path.endswith(".py"):
        maker = _from_file(Path(path), function)
    elif name in PROGRAMS:
        maker = PROGRAMS[name]
    else:
        raise UnknownName("program of threads", name, {*PROGRAMS, *others})
    try:
        program = maker(**settings)
    except TypeError as error:
        raise Misuse(f"{name}: {error}", hint="its settings are the function's arguments: --set rounds=2") from error
    except VezError:
        raise
    except (Exception, SystemExit) as error:
        raise blame_function(error, maker, "making the program") from error
    if not isinstance(program, Program):
        raise BadData(f"{name} returned a {type(program).__name__}, expected a vez.threads.Program")
    return program


def _from_file(path: Path, function: str) -> Any:
    if not path.is_file():
        raise MissingFile(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"vez_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadData(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadData(f"{path}: {type(error).__name__}: {error}") from error
    found = getattr(module, function, None)
    if not callable(found):
        names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise UnknownName(f"function in {path}", function, names)
    return found
