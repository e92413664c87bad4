"""Regenerate: write every golden and generated file of the repository again. `make regenerate`, or single steps:

    python -m tools.regenerate                    all steps, in this order
    python -m tools.regenerate picture goldens    only these
    python -m tools.regenerate --list             what each step writes

On an unchanged tree `git status` is clean afterwards. Read the diff before you commit it.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools import algorithm_pages, api_page, scenario_list, unasync

ROOT = Path(__file__).parent.parent
PICTURE = Path("docs/images/slow-holder.svg")
PICTURE_COMMAND = (
    "vez sim coordinator-lease -n 3 --set lease_ms=6 --want 2@0+2 --want 3@1+3 --pause 2@3+7 -o slow-holder.svg"
)
"""The README shows the picture and, below it, this command."""
VERDICTS = Path("docs/reference/verdicts.md")
ROWS = Path("build/verdicts.jsonl")


def draw_picture(to: Path) -> None:
    """Run the command of the README. Exit code 1 is right: the picture shows a broken property."""
    command = shlex.split(PICTURE_COMMAND)[1:-1]
    _run([sys.executable, "-m", "vez", *command, str(to)], expected=(1,))


def golden_tests() -> list[str]:
    """The test files that compare with golden files: those that use the fixture `golden`."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in files if "golden: Callable" in path.read_text(encoding="utf-8")]


def _picture() -> None:
    (ROOT / PICTURE).parent.mkdir(exist_ok=True)
    draw_picture(ROOT / PICTURE)


def _scenario_list() -> None:
    (ROOT / scenario_list.PAGE).write_text(scenario_list.page(ROOT), encoding="utf-8")


def _api() -> None:
    (ROOT / api_page.PAGE).write_text(api_page.page(), encoding="utf-8")


def _goldens() -> None:
    _run([sys.executable, "-m", "pytest", "--rewrite-golden", *golden_tests()])


def _algorithm_pages() -> None:
    algorithm_pages.write(ROOT / algorithm_pages.FOLDER)


def _verdicts() -> None:
    """Write the page of verdicts. Finished rows are kept until the page is written, so that the step can be interrupted
    and continued."""
    (ROOT / ROWS).parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "vez", "verify", "--resume", str(ROWS), "-o", str(VERDICTS)]
    _run(command, expected=(0, 2))  # 2: some searches stop at the limit of states, which the page says
    (ROOT / ROWS).unlink()


STEPS: dict[str, tuple[str, Callable[[], None]]] = {
    "picture": (f"{PICTURE}", _picture),
    "scenario-list": (f"{scenario_list.PAGE}", _scenario_list),
    "threads": ("engines for threads, from those for tasks (python -m tools.unasync)", unasync.write),
    "api": (f"{api_page.PAGE}", _api),
    "goldens": ("golden files beside the scenarios and the tests (pytest --rewrite-golden)", _goldens),
    "algorithm-pages": (f"{algorithm_pages.FOLDER}/*.md, about 2 minutes", _algorithm_pages),
    "verdicts": (f"{VERDICTS}, the longest step", _verdicts),
}


def _run(command: list[str], expected: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in expected:
        raise SystemExit(f"{shlex.join(command)} ended with exit code {done.returncode}")


def main(arguments: list[str]) -> int:
    """Run the steps. Returns the exit code, 64 for a step that does not exist."""
    unknown = [name for name in arguments if name not in STEPS and name != "--list"]
    if unknown:
        sys.stderr.write(f"no step {unknown[0]!r}; the steps are {', '.join(STEPS)}\n")
        return 64
    if "--list" in arguments:
        sys.stdout.write("".join(f"{name:16} {writes}\n" for name, (writes, _) in STEPS.items()))
        return 0
    for name in arguments or STEPS:
        began = time.monotonic()
        sys.stdout.write(f"{name} … ")
        sys.stdout.flush()
        try:
            STEPS[name][1]()
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            return 130
        sys.stdout.write(f"{time.monotonic() - began:.1f} s\n")
    return 0


if __name__ == "__main__":  # pragma: no cover - the tests call `main`
    sys.exit(main(sys.argv[1:]))
