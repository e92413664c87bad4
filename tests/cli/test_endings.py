"""The end of a command whose output fails, or that is told to stop: it is quiet and quick, and leaves no process
behind."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import descendants, is_alive
from vez.cli.printing.output import write_file
from vez.errors import CannotWrite
from vez.testing import eventually

VEZ = f"{sys.executable} -m vez"


def bash(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    "command", ["algorithms", "sim bully", "sim bully --diagram text", "--help", "sim bully --json"]
)
def test_nobody_reads(command: str) -> None:
    done = bash(f"{VEZ} {command} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["sim bully", "sim bully --json", "algorithms"])
@pytest.mark.parametrize(("where", "reason"), [(">&-", "is closed"), ("> /dev/full", "No space left on device")])
def test_standard_output_that_cannot_be_written(command: str, where: str, reason: str) -> None:
    done = bash(f"{VEZ} {command} {where}")
    assert done.returncode == 74
    assert reason in done.stderr.splitlines()[0]
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.serial
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_worker_outlives_a_sweep(number: signal.Signals, code: int) -> None:
    line = "sim ricart-agrawala -n 9 --requests 9 --runs 20000 --jobs 2"
    parent = subprocess.Popen([sys.executable, "-m", "vez", *line.split()], stderr=subprocess.PIPE, text=True)
    try:
        eventually(lambda: len(descendants(parent.pid)) >= 3, "workers and their tracker start")
        children = descendants(parent.pid)
        parent.send_signal(number)
        _, err = parent.communicate(timeout=30)
        assert parent.returncode == code
        assert "Traceback" not in err or number == signal.SIGKILL
        eventually(lambda: not any(map(is_alive, children)), f"{children} are still there")
    finally:
        parent.kill()
        parent.wait(60)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.svg", tmp_path / "link.svg"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("real.svg")
    write_file(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.svg", "real.svg"]


def test_a_link_to_nothing_makes_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.svg"
    link.symlink_to("later.svg")
    write_file(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "later.svg").read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write_file(pipe, "through")
    assert reader.communicate(timeout=30)[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to(os.devnull)  # by a link: a failed test must not damage the device of the machine
    write_file(link, "into nothing")
    assert link.is_symlink()
    assert stat.S_ISCHR(link.stat().st_mode)


def test_what_cannot_be_written_says_why_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="No such file") as caught:
        write_file(tmp_path / "no" / "x.svg", "new")
    assert caught.value.hint.startswith("make the folder")
    with pytest.raises(CannotWrite, match="irectory"):
        write_file(tmp_path, "new")
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(CannotWrite, match="symbolic links"):
        write_file(loop, "new")
    assert os.listdir(tmp_path) == ["loop"]
    assert loop.is_symlink()


INTERRUPT = """
import os, signal
from vez.cli.app import main
from vez.cli.printing import progress
class Watched(progress.Bar):
    def at(self, done, words=""):
        super().at(done, words)
        if done >= 50:
            os.kill(os.getpid(), signal.SIGINT)
if __name__ == "__main__":
    progress.Bar = Watched
    main()
"""
"""The command line, interrupted when its progress bar has shown 50 finished runs."""


def interrupted_sweep(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    script = folder / "interrupt.py"  # a file: the workers of a sweep import it
    script.write_text(INTERRUPT)
    arguments = [sys.executable, str(script), *line.split()]
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("as_json", [False, True])
def test_an_interrupted_sweep_reports_the_runs_that_it_has(jobs: int, as_json: bool, tmp_path: Path) -> None:
    line = f"sim token-ring --runs 20000 --jobs {jobs} --shrink {tmp_path}/short.toml" + " --json" * as_json
    done = interrupted_sweep(tmp_path, line)
    assert done.returncode == 130
    assert re.search(r"vez: interrupted after [\d,]+ of 20,000 runs", done.stderr)
    assert not (tmp_path / "short.toml").exists()
    if as_json:
        found = json.loads(done.stdout)
        assert found["interrupted"]
        assert 50 <= found["runs"] < found["asked"] == 20_000
        assert found["properties"]["exclusion"]["verdict"] == f"holds in {found['runs']:,} runs"
        assert sum(last - first + 1 for first, last in found["seeds"]) == found["runs"]
        if jobs == 1:  # of two workers, either may have its first seeds unfinished
            assert found["seeds"][0][0] == 0
    else:
        told = re.search(
            r"token-ring  ([\d,]+) of 20,000 runs, seeds ([\d to,]+), delay", " ".join(done.stdout.split(" "))
        )
        assert told
        rows = [tuple(map(int, row.split(" to "))) for row in told[2].split(", ")]
        assert sum(row[-1] - row[0] + 1 for row in rows) == int(told[1].replace(",", "")) < 20_000
        assert re.search(r"exclusion +holds in [\d,]+ runs", done.stdout)


def test_an_interrupted_sweep_that_found_something_broken_says_broken(tmp_path: Path) -> None:
    done = interrupted_sweep(tmp_path, "sim ricart-agrawala-priority --runs 20000 --jobs 2")
    assert done.returncode == 1
    assert re.search(r"exclusion +broken in [\d,]+ of [\d,]+ runs", done.stdout)
    assert "interrupted after" in done.stderr


def test_an_interrupted_search_for_a_break_says_how_far_it_came() -> None:
    line = "sim chang-roberts --without reliable --runs 1000000"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *line.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "no guarantee broken in 4 seeds" in " ".join(out.split())
    assert err == "vez: interrupted after 4 seeds\n"


SLOWLY = """
import os, signal
from vez.cli.app import main
import vez.study.search as search
simulate = search.simulate
def honest(scenario, algorithm):
    if scenario.seed == 4:
        os.kill(os.getpid(), signal.SIGINT)
    return simulate(scenario.but(network=type(scenario.network)()), algorithm)
search.simulate = honest
main()
"""
"""Runs in which nothing goes wrong, and an interruption in the fifth."""


BIG = """
import atexit, os, signal, sys
import vez.cli.sim as command
from vez.cli.app import main
class Data:
    def __del__(self):
        os.write(1, b"freed\\n")
def simulate(*arguments, **options):
    command.data = Data()
    atexit.register(print, "cleaned up")
    os.kill(os.getpid(), int(sys.argv.pop()))
command.simulate = simulate
main(["sim", "token-ring"])
"""
"""A run that is ended by a signal while it has data, which tells when it is freed."""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_command_ended_by_a_signal_cleans_up_and_does_not_free_its_data(number: int, code: int) -> None:
    """Freeing the events of a long run takes seconds, in which the process would linger."""
    done = subprocess.run(
        [sys.executable, "-c", BIG, str(int(number))], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (code, "cleaned up\n")
    assert done.stderr.strip() == ("vez: terminated" if code == 143 else "vez: interrupted")
