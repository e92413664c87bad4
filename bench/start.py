"""Measure how long vez takes to start, beside Python and flock: `import vez`, a lock and three commands.

Each is a new process. Within a round all take turns, so that a disturbance affects each of them; a table shows medians
and how many times as long as `python -c pass` each takes. The ratios hold for one machine and one Python only. `vez` is
the script that pip has made, which imports `re` before vez is loaded.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 21
BARE = "python -c pass"
AIMS = {"import vez": 1.5, "vez run x -- true": 3, "vez status": 3, "vez --help": 4}
"""Largest ratios to `python -c pass`."""


def commands(folder: Path) -> dict[str, list[str]]:
    """The measured commands, each with its command line."""
    vez = str(Path(sys.executable).with_name("vez"))
    found = {
        BARE: [sys.executable, "-c", "pass"],
        "python -c 'import re'": [sys.executable, "-c", "import re"],
        "import vez": [sys.executable, "-c", "import vez"],
        "vez.lock('x')": [sys.executable, "-c", "import vez\nwith vez.lock('x'): pass"],
        "vez run x -- true": [vez, "run", "x", "--", "true"],
        "vez status": [vez, "status"],
        "vez --help": [vez, "--help"],
    }
    if (flock := shutil.which("flock")) is not None:
        found["flock x true"] = [flock, str(folder / "x"), "true"]
    return found


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Run a command. Returns how long it took."""
    begin = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def main() -> None:
    """Print the table."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VEZ_", "PYTHONDONTWRITE"))}
    with tempfile.TemporaryDirectory() as folder:
        environment = kept | {"VEZ_DIR": f"{folder}/turns"}
        measured = commands(Path(folder))
        taken: dict[str, list[float]] = {name: [] for name in measured}
        for round_number in range(ROUNDS + 1):
            for name, command in measured.items():
                spent = seconds(command, environment)
                if round_number:  # the first one compiles modules and reads files from the disk
                    taken[name].append(spent)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    print(f"medians of {ROUNDS} rounds, in ms, and as multiples of `{BARE}`")
    for name, median in medians.items():
        ratio = median / medians[BARE]
        aim = f"   aim: {AIMS[name]}" if name in AIMS else ""
        print(f"    {name:<24} {median * 1000:8.1f} {ratio:7.2f}{aim}{'   missed' * (ratio > AIMS.get(name, ratio))}")


if __name__ == "__main__":
    main()
