"""Programs of threads by name: those of the catalogue, and functions in a user's file."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rich.markup import escape

from vez.cli.printing.output import console, print_json
from vez.cli.printing.tables import Column, print_table
from vez.errors import BadData, MissingFile, Misuse, UnknownName, VezError
from vez.threads import Program
from vez.threads.programs import LESSONS, PROGRAMS
from vez.threads.real import MOST_THREADS
from vez.worlds.sim.blame import blame_function

Listed = Mapping[str, tuple[str, Sequence[str]]]
"""Programs by name: the subject of each, and its settings in words."""


def programs() -> dict[str, tuple[str, Sequence[str]]]:
    """The programs of the catalogue, with the settings of the checker."""
    return {name: (lesson.teaches, settings_words(lesson.maker)) for name, lesson in LESSONS.items()}


def print_programs(listed: Listed, command: str, *, as_json: bool) -> None:
    """Print the programs, with the subject and the settings of each."""
    if as_json:
        print_json({name: {"teaches": does, "settings": settings} for name, (does, settings) in listed.items()})
        return
    rows = [
        (name, escape(teaches), escape(" ".join(word.removeprefix("--set ") for word in settings)))
        for name, (teaches, settings) in listed.items()
    ]
    out = console()
    print_table(out, [Column("program"), Column("what it teaches"), Column("settings (--set)")], rows)
    out.print(f"run one: {command}", soft_wrap=True)


def settings_words(maker: Callable[..., Any], instead: Mapping[str, Any] | None = None) -> list[str]:
    """The settings of a program with their defaults, or with these values instead."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(maker).parameters.items()}
    values = {**defaults, **(instead or {})}
    words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
    return [f"--set {name}={word}" for name, word in words.items()]


def load_maker(name: str, others: Iterable[str] = ()) -> Callable[..., Any]:
    """The function that makes a program: by its name in the list, or path/to/file.py:function.

    `others` are names that the command knows beside these.
    """
    path, colon, function = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_file(Path(path), function)
    if name in PROGRAMS:
        return PROGRAMS[name]
    raise UnknownName("program of threads", name, {*PROGRAMS, *others})


def load_program(name: str, settings: dict[str, Any]) -> Program:
    """A program with its settings."""
    maker = load_maker(name)
    _check_settings(name, maker, settings)
    try:
        program = maker(**settings)
    except VezError:
        raise
    except (Exception, SystemExit) as error:
        raise blame_function(error, maker, "making the program") from error
    if not isinstance(program, Program):
        raise BadData(f"{name} returned a {type(program).__name__}, expected a vez.threads.Program")
    return program


def _check_settings(name: str, maker: Callable[..., Any], settings: Mapping[str, Any]) -> None:
    """Refuse a setting that the program does not have, and a value of another type than its default."""
    try:
        parameters = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # a callable without a signature raises its own error
        return
    kinds = [parameter.kind for parameter in parameters.values()]
    known = [word.removeprefix("--set ").partition("=")[0] for word in settings_words(maker)]
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for wrong in sorted(set(settings) - set(known)):
            has = f"its settings are {', '.join(known)}" if known else "it has none"
            raise Misuse(f"{name} has no setting {wrong!r}; {has}", hint="give one as --set NAME=VALUE")
    for key, value in settings.items():
        default = parameters[key].default if key in parameters else None
        if name in PROGRAMS and not _fits(value, default):
            expected = _TYPES[type(default)]
            raise Misuse(f"{name}: {key} is {value!r}, expected {expected}", hint=f"--set {key}={json.dumps(default)}")
        if name in PROGRAMS and key in _THREADS and value > MOST_THREADS:
            few = f"give a smaller number: --set {key}={default}"
            raise Misuse(f"{name}: {key} is {value:,}, expected at most {MOST_THREADS:,}", hint=few)


_THREADS = frozenset({"threads", "producers", "consumers", "readers", "writers", "workers"})
"""Settings that are numbers of threads: too many are refused before a program is made."""
_TYPES: dict[type, str] = {
    bool: "true or false",
    int: "a whole number, 0 or more",
    float: "a number, 0 or more",
    str: "a word",
}


def _fits(value: Any, default: Any) -> bool:
    if type(default) is float:
        return type(value) in (int, float) and value >= 0
    if type(default) is int:
        return type(value) is int and value >= 0
    return type(value) is type(default)


def _from_file(path: Path, function: str) -> Callable[..., Any]:
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
    return cast("Callable[..., Any]", found)
