"""A copy of a tree with its own environment, in which pytest runs with a mutated module.

The environment has the packages of the environment that runs this tool, but imports vez from the copy. A `.pth` file
does that. `PYTHONPATH` cannot, because tests start processes with other environment variables.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tools.mutate import watch
from tools.mutate.mutations import PACKAGE, Mutation

LEFT_OUT = (".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "demo-out", "*.egg-info")
MARKERS = "not serial and not browser"
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider", "-p", "mutate_plugin", "--hypothesis-seed", "0")
FIXED = {"PYTHONHASHSEED": "0", "VEZ_CAMPAIGN_SEED": "1", "VEZ_MUTANT_SEED": "1"}
"""Seeds from which the tests draw their cases. All runs use the same ones, so that only the mutation differs."""
OWNER = "VEZ_MUTATE_SCRATCH"
"""Environment variable by which processes that a test has left behind are found."""


class Ended(NamedTuple):
    """The result of a run of pytest."""

    code: int | None
    """The exit code; None if the run was stopped at its time limit."""
    tests: list[dict[str, Any]]
    """The entries that `plugin.Run` wrote: one for each test that ended."""
    last: str
    """The last line that pytest printed."""


def digest(tree: Path) -> str:
    """A hash of the package and the tests: results belong to exactly these files."""
    whole = hashlib.sha256()
    for path in sorted(path for name in ("src", "tests") for path in (tree / name).rglob("*.py")):
        whole.update(f"{path.relative_to(tree).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def end_processes(owner: str) -> None:
    """Kill processes whose environment contains the name of this scratch folder: tests in it started them."""
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{OWNER}={owner}".encode() in entry.read_bytes().split(b"\0"):
                os.kill(int(entry.parent.name), signal.SIGKILL)
        except OSError:  # it has ended, or belongs to another user
            continue


class Scratch:
    """The copy and its environment. It is in a temporary folder with a short name, because paths of Unix sockets are
    limited."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder.resolve()
        self.tree, self.packages = self.folder / "tree", self.folder / "env/lib"
        shutil.copytree(tree, self.tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        venv.EnvBuilder(symlinks=True).create(self.folder / "env")
        self.packages = next((self.folder / "env/lib").glob("python3*/site-packages"))
        for name in ("watch", "plugin"):
            shutil.copy(Path(__file__).with_name(f"{name}.py"), self.packages / f"mutate_{name}.py")
        (self.packages / "mutate.pth").write_text(f"{self.tree / 'src'}\n", encoding="utf-8")
        self._link_packages()
        self._copy_commands()
        self._check()

    def _link_packages(self) -> None:
        """Link to every installed package but vez, and describe vez with the entry points that this tree has."""
        installed = importlib.metadata.distribution(PACKAGE.name)
        own = {file.parts[0] for file in installed.files or []} | {"__pycache__"}
        ours = ("mutate", f"{PACKAGE.name}-")  # present if this tool runs in a scratch environment, as its tests may
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if path.name not in own and not path.name.startswith(ours):
                (self.packages / path.name).symlink_to(path)
        project = tomllib.loads((self.tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        info = self.packages / f"{PACKAGE.name}-{installed.version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(installed.read_text("METADATA") or "", encoding="utf-8")
        groups = {"console_scripts": project.get("scripts", {}), **project.get("entry-points", {})}
        lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups.items()]
        (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

    def _copy_commands(self) -> None:
        """Copy the commands that are installed beside the interpreter, such as `vez`, for the interpreter of this
        environment."""
        for path in Path(sys.executable).parent.iterdir():
            target = self.folder / "env/bin" / path.name
            if path.is_file() and not path.is_symlink() and not target.exists():
                first, _, rest = path.read_bytes().partition(b"\n")
                if first.startswith(b"#!") and b"python" in first:
                    target.write_bytes(f"#!{self.folder}/env/bin/python\n".encode() + rest)
                    target.chmod(0o755)

    def _check(self) -> None:
        """Fail if this environment imports another tree: every mutation would survive."""
        command = [f"{self.folder}/env/bin/python", "-c", f"import {PACKAGE.name} as p; print(p.__path__[0])"]
        found = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout.strip()
        if found != str(self.tree / PACKAGE):
            raise SystemExit(f"the scratch environment imports {found}, not {self.tree / PACKAGE}")

    def _environment(self, temporary: Path) -> dict[str, str]:
        mine = {"TMPDIR": str(temporary), "VEZ_DIR": str(temporary / "turns"), OWNER: str(self.folder)}
        path = f"{self.folder}/env/bin{os.pathsep}{os.environ.get('PATH', '')}"
        rest = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "VEZ_"))}
        return {**rest, **FIXED, **mine, "PATH": path, "HYPOTHESIS_STORAGE_DIRECTORY": str(temporary / "hypothesis")}

    def pytest(self, *options: str, tests: list[str] | None = None, limit: float) -> Ended:
        """Run these tests in this order, or all tests that the options select. Then end the processes that they left
        behind."""
        temporary = Path(tempfile.mkdtemp(prefix="t", dir=self.folder))
        ended, output = self.folder / "ended", self.folder / "output"
        ended.write_text("")
        command = [f"{self.folder}/env/bin/python", "-m", "pytest", *OPTIONS, f"--mutate-ended={ended}", *options]
        if tests is not None:
            chosen = self.folder / "chosen.json"
            chosen.write_text(json.dumps(tests), encoding="utf-8")
            command += [f"--mutate-tests={chosen}", *dict.fromkeys(name.partition("::")[0] for name in tests)]
        with output.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=self.tree, env=self._environment(temporary), stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                end_processes(str(self.folder))
                shutil.rmtree(temporary, ignore_errors=True)
        lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""]
        return Ended(code, [json.loads(line) for line in ended.read_text(encoding="utf-8").splitlines()], lines[-1])

    @contextmanager
    def watched(self, lines: set[tuple[str, int]]) -> Iterator[Path]:
        """Watch these lines, given as path in the tree and number, in every process; yields the folder of the hits."""
        hits, load = self.packages / watch.HITS, self.packages / "mutate_watch.pth"
        shutil.rmtree(hits, ignore_errors=True)
        hits.mkdir()
        text = "".join(f"{self.tree / path}:{line}\n" for path, line in sorted(lines))
        (self.packages / watch.LINES).write_text(text, encoding="utf-8")
        load.write_text("import mutate_watch; mutate_watch.start()\n")
        try:
            yield hits
        finally:
            load.unlink()

    @contextmanager
    def mutated(self, mutation: Mutation, number: int) -> Iterator[None]:
        """Apply the mutation. Modification times differ, so that Python does not use the compiled module of another
        mutation."""
        path = self.tree / mutation.path
        original, times = path.read_bytes(), path.stat()
        path.write_text(mutation.applied(original.decode()), encoding="utf-8")
        os.utime(path, (10**9 + number, 10**9 + number))
        try:
            yield
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@contextmanager
def scratch(tree: Path) -> Iterator[Scratch]:
    """A scratch copy in a temporary folder, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="vm-", ignore_cleanup_errors=True) as folder:
        yield Scratch(tree, Path(folder))
