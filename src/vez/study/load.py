"""Find an algorithm: by its name in the catalogue, or as a class in a user's file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from vez.algorithms import find
from vez.core.process import Process
from vez.errors import BadData, MissingFile, Misuse, UnknownName, VezError


def load_algorithm(name: str) -> type[Process]:
    """`ricart-agrawala`, `zoo:twins`, or `path/to/file.py:Class` (the class may be left out if it is the only one)."""
    if name.startswith("zoo:"):  # `vez.zoo.PREFIX`; the zoo is loaded only for its visitors
        from vez.zoo import find_specimen

        return find_specimen(name).algorithm
    path, _, wanted = name.partition(":")
    if not path.endswith(".py"):
        return find(name)
    module = _load(Path(path))
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
    return classes[wanted or next(iter(classes))]


def _load(path: Path) -> ModuleType:
    """Import a file as a module. It is code that the user named; no other file is ever run."""
    resolved = path.resolve()
    name = f"vez_user_{hashlib.sha256(str(resolved).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    if not resolved.is_file():
        raise MissingFile(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise BadData(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
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
    return module


def _line(error: BaseException, path: Path) -> int | None:
    """The last line of the user's file in the traceback, or None."""
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == str(path):
            line = step.tb_lineno
        step = step.tb_next
    return line
