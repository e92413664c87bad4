"""An environment in which Python has only vez and its dependencies, as after `pip install .`: all else is hidden."""

from __future__ import annotations

import re
from importlib.metadata import packages_distributions, requires
from pathlib import Path


def needed(distribution: str = "vez") -> set[str]:
    """The distributions that `pip install` of this one installs without extras, itself included."""
    found, waiting = {distribution}, [distribution]
    while waiting:
        for requirement in requires(waiting.pop()) or ():
            name = _plain(re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)[0])
            if "extra ==" not in requirement and "sys_platform" not in requirement and name not in found:
                found.add(name)
                waiting.append(name)
    return found


def hide_all_others(folder: Path) -> dict[str, str]:
    """Write modules into a folder that hide every package that vez does not need; returns the settings for Python."""
    core = needed()
    for module, distributions in packages_distributions().items():
        public = module.isidentifier() and not module.startswith("_")  # others are loaded as Python starts
        if public and module != "coverage" and not core & set(map(_plain, distributions)):
            text = f"raise ModuleNotFoundError({f'No module named {module!r}'!r}, name={module!r})\n"
            (folder / f"{module}.py").write_text(text)
    return {"PYTHONPATH": str(folder)}


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
