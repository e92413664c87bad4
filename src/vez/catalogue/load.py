"""Find an algorithm: by its name in the catalogue, as a plug-in, or as a class in a user's file."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

from vez import plugins
from vez.catalogue.algorithms import ALGORITHMS
from vez.core.declarations import collecting
from vez.core.process import Process
from vez.errors import LONGEST_SHOWN, BadData, MissingFile, Misuse, UnknownName, VezError

WANTED = "expected a name of `vez algorithms`, or a class of a Python file: path/to/file.py:Class"
"""The next step for a path that leads to no algorithm."""


def is_listed(name: str) -> bool:
    """True for a name of the catalogue, which is found without reading a file or looking for plug-ins."""
    return name in ALGORITHMS


def load_algorithm(name: str) -> type[Process]:
    """The algorithm of that name.

    A name is `ricart-agrawala`, `zoo:twins`, `table:lock`, `recipe:etcd-lock`, the name of a plug-in, or
    `path/to/file.py:Class`. The class may be left out if the file has only one.
    """
    if name.startswith("zoo:"):  # `vez.catalogue.zoo.PREFIX`; the zoo is loaded only when needed
        from vez.catalogue.zoo import find_algorithm

        return find_algorithm(name)
    if name.startswith("table:"):  # `vez.locks.models.PREFIX`
        from vez.locks.models import find_model

        return find_model(name)
    if name.startswith("recipe:"):
        from vez.locks.models.recipes import find_recipe

        return find_recipe(name)
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    path, _, wanted = name.partition(":")
    if not path.endswith(".py"):
        if name not in plugins.entries(plugins.ALGORITHMS):
            _refuse_path(name, path)
        return load_plugin(name)
    module, refused = _load(Path(path))
    classes = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Process) and value.__module__ == module.__name__
    }
    if not classes:
        raise BadData(f"{path} defines no Process", hint="subclass vez.core.Mutex, Election or Process in it")
    if wanted and wanted not in classes:
        raise UnknownName(f"class of {path}", wanted, classes)
    if not wanted and len(classes) > 1:
        raise Misuse(f"{path} defines {', '.join(classes)}", hint=f"say which: {path}:{next(iter(classes))}")
    found = classes[wanted or next(iter(classes))]
    for kind in found.__mro__:
        if kind in refused:
            raise refused[kind]
    return found


def _refuse_path(name: str, path: str) -> None:
    """Refuse what is meant as a path and leads to no Python file. Names of algorithms have no slashes and no dots."""
    if not any(sign in path for sign in ("/", os.sep, ".")):
        return
    if os.path.isdir(path):  # `Path` would raise an error if the name is too long
        raise _folder(path)
    if os.path.exists(path):
        raise BadData(f"{path} is not a .py file", hint=WANTED)
    raise MissingFile(f"there is no file {_short(path)}, and no algorithm has this name", hint=WANTED)


def _short(path: str | Path) -> str:
    return str(path) if len(str(path)) <= LONGEST_SHOWN else f"{str(path)[:LONGEST_SHOWN]}…"


def _folder(path: str | Path) -> BadData:
    return BadData(f"{path} is a folder", hint=WANTED)


def load_plugin(name: str) -> type[Process]:
    """The algorithm that another package provides under this name."""
    found = plugins.entries(plugins.ALGORITHMS)
    if name not in found:
        raise UnknownName("algorithm", name, [*ALGORITHMS, *found])
    loaded = plugins.load(plugins.ALGORITHMS, name)
    if not isinstance(loaded, type) or not issubclass(loaded, Process):
        raise plugins.broken(plugins.ALGORITHMS, name, f"expected a subclass of vez.core.Process, found {loaded!r}")
    return loaded


_LOADED: dict[str, tuple[ModuleType, dict[type, VezError]]] = {}


def _load(path: Path) -> tuple[ModuleType, dict[type, VezError]]:
    """Import a file as a module. Returns it with its refused classes: the user may mean another class of the file.

    The file is code that the user named; no other file is ever run.
    """
    if not os.path.exists(path):  # `Path` would raise an error for a name that is too long
        raise MissingFile(f"there is no file {_short(path)}", hint=WANTED)
    resolved = path.resolve()
    name = f"vez_user_{hashlib.sha256(os.fsencode(resolved)).hexdigest()[:12]}"
    if name in _LOADED:
        return _LOADED[name]
    if resolved.is_dir():
        raise _folder(path)
    if not resolved.is_file():
        raise BadData(f"{path} is not a file that can be read as Python", hint=WANTED)
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise BadData(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with collecting() as refused:
            spec.loader.exec_module(module)
    except VezError:
        del sys.modules[name]
        raise
    except (Exception, SystemExit) as error:  # a sys.exit() in the file must not end vez silently
        del sys.modules[name]
        line = getattr(error, "lineno", None) or _line(error, resolved)
        where = f"{path}, line {line}" if line else str(path)
        words = error.msg if isinstance(error, SyntaxError) else str(error)
        raise BadData(f"{where}: {type(error).__name__}: {words}", hint="`python FILE` shows the traceback") from error
    _LOADED[name] = module, refused
    return _LOADED[name]


def _line(error: BaseException, path: Path) -> int | None:
    """The last line of the user's file in the traceback, or None."""
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(path):
            line = step.tb_lineno
        step = step.tb_next
    return line
