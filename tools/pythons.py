"""Run the quick tests on every other Python: `make test-pythons`, or `python -m tools.pythons`.

`python -m tools.pythons newest` prints the newest interpreter that the classifiers name. CI runs everything on it.

Looks for `python3.N` and the free-threaded `python3.Nt` (3.11 or newer) on the path and among pyenv's versions, which
need not be enabled. Each one gets an environment `.venv-3.N` with vez and what its tests need. The Python that runs
this is left out: `make test` runs everything on it. Prints the versions that were found and the result of each. The
exit code is 1 if tests fail, or if a version that the classifiers name cannot be tested because its packages cannot be
installed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = 11, 20
"""Minor versions to look for: from the oldest in pyproject.toml to far beyond the newest."""
QUICK = (
    "tests/core",
    "tests/draw",
    "tests/locks/engines/test_conformance.py",
    "tests/locks/models/recipes/test_live_locals.py",
    "tests/locks/models/recipes/test_other_recipes.py",
    "tests/locks/models/recipes/test_positions.py",
    "tests/judge/properties",
    "tests/worlds/sim",
    "tests/test_errors.py",
    "tests/test_scenarios.py",
    "tests/threads",
)
"""Tests of code that depends on the interpreter: introspection, locks of threads, tasks and processes, runs,
pictures, states of recipes."""
WORKERS = "3"
"""More than cores: many tests wait for a server, a lease or another process."""
MARKERS = "not long and not browser and not serial"
TELL = """
import sys, sysconfig
print("%d.%d" % sys.version_info[:2] + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
"""
CLAIM = "Programming Language :: Python :: "


def claimed() -> set[str]:
    """The versions that the classifiers of the package name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {text.removeprefix(CLAIM) for text in project["classifiers"] if text.startswith(f"{CLAIM}3.")}


def name_of(python: str | Path) -> str | None:
    """The version of an interpreter as `3.N` or `3.Nt`, None if it does not run: a pyenv shim may lead nowhere."""
    try:
        done = subprocess.run([python, "-c", TELL], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def candidates() -> Iterator[Path]:
    """Files that may be an interpreter, the likeliest first."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += sorted(pyenv.glob("versions/3.*/bin"), reverse=True)
    for minor in range(OLDEST, NEWEST):
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            yield from (folder / name for folder in folders if (folder / name).exists())


def others() -> dict[str, Path]:
    """One interpreter for each version other than the one that runs this."""
    found: dict[str, Path] = {}
    own = name_of(sys.executable)
    for path in candidates():
        name = name_of(path)
        if name is not None and name != own:
            found.setdefault(name, path)
    return found


def newest(found: Mapping[str, Path], named: set[str]) -> Path | None:
    """The newest of the interpreters that were found, among the versions that are named; None if there is none."""
    known = named.intersection(found)
    return found[max(known, key=lambda name: int(name.removeprefix("3.")))] if known else None


def environment(name: str, python: Path) -> Path | None:
    """The interpreter of `.venv-3.N`, which is created again when pyproject.toml has changed; None if nothing can be
    installed."""
    folder = ROOT / f".venv-{name}"
    stamp = folder / ".installed"
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    inside = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ".[test]"]
        if subprocess.run(pip, cwd=ROOT, check=False).returncode:
            return None
        stamp.write_text(wanted)
    return inside


def test(name: str, python: Path) -> str:
    """Run the quick tests on one interpreter. Returns how they ended."""
    print(f"== Python {name} ({python})", flush=True)
    inside = environment(name, python)
    if inside is None:
        return "FAILED: its packages cannot be installed" if name in claimed() else "packages cannot be installed"
    command = [str(inside), "-m", "pytest", "-n", WORKERS, "-m", MARKERS, *QUICK]
    return "FAILED" if subprocess.run(command, cwd=ROOT, check=False).returncode else "quick tests passed"


def main(words: Sequence[str]) -> int:
    """Test each interpreter that is found, or print the newest one."""
    if words not in ([], ["newest"]):
        print("usage: python -m tools.pythons [newest]", file=sys.stderr)
        return 64
    found, own = others(), name_of(sys.executable)
    if words:
        print(newest({**found, str(own): Path(sys.executable)}, claimed()) or sys.executable)
        return 0
    ends = {name: test(name, path) for name, path in found.items()}
    for name in sorted(claimed() - found.keys() - {own}):
        ends[name] = "not found, not tested"
    print("== other Pythons: " + (", ".join(f"{name} {end}" for name, end in ends.items()) or "none found"))
    return int(any(end.startswith("FAILED") for end in ends.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
