"""The faults of `vez torture` that change the world of a worker: each of them really happens, and is judged.

That it has an effect is shown by the mutants of the engine that only it reveals (`test_mutants.py`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.locks.engines.campaigns import sound
from vez.cli.app import run
from vez.errors import Misuse
from vez.judge.properties import Status
from vez.locks.turns.client import connect
from vez.testing import eventually
from vez.testing.torture import Campaign, Outcome, Plan, inner_faults, jobs, throughput
from vez.testing.torture.containers import CONTAINERS, Container, Shared, refusal
from vez.testing.torture.controls import CALM, RELAY, Controls
from vez.testing.torture.fork_server import Order
from vez.testing.torture.history import Fault
from vez.testing.torture.plan import FAULTS, FaultKind
from vez.testing.torture.record import Line, Recorder, read_lines
from vez.testing.torture.relay import Relay
from vez.testing.torture.speed import Slack
from vez.testing.torture.stays import Broken, Target, judge
from vez.testing.torture.throughput import Slice

MS = 1_000_000
LOCK = Target("", "lock")


def tortured(folder: Path, *faults: FaultKind) -> Outcome:
    plan = Plan(url=f"file://{folder}/turns", workers=4, seconds=2, seed=3, faults=faults)
    outcome = sound(lambda: Campaign(plan).run())
    assert not any("only the engine file:" in why for why in outcome.skipped.values())
    if outcome.skipped:
        pytest.skip(f"this machine does not allow it: {outcome.skipped}")
    return outcome


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.parametrize(
    ("faults", "counted"),
    [
        (("clock", "prune"), "clock jump"),
        (("container", "kill"), "container"),
        (("descriptors",), "descriptor limit"),
        (("disk", "break"), "full disk"),
        (("fsync", "kill"), "failing fsync"),
    ],
)
def test_a_fault_happens_and_breaks_nothing(tmp_path: Path, faults: tuple[FaultKind, ...], counted: str) -> None:
    outcome = tortured(tmp_path, *faults)
    assert outcome.faults[counted] > 0
    if counted in ("full disk", "failing fsync"):
        assert outcome.refused > 0
    assert {verdict.name for verdict in outcome.verdicts} > {"progress", "throughput", "fork_safe"}


@pytest.mark.long
@pytest.mark.serial
def test_all_faults_and_all_kinds_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vez", "torture", "--url", f"file://{tmp_path}/turns", "--seconds", "5", "--json"]
    words = ["--faults", "all", "--kinds", "lock,read-write,semaphore,election", "--entries", "20000"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    skipped = {words.partition(" ")[0] for words in report["skipped"]}
    assert len(report["faults"]) == len(FAULTS) - len(skipped & set(FAULTS))
    assert not (tmp_path / "turns" / "lock.torture").exists() or "disk" in skipped  # only the workers saw the disk


def test_what_the_machine_does_not_allow_is_left_out_with_the_reason(tmp_path: Path) -> None:
    begin = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    if subprocess.run([*begin, script, "sh", "true"], capture_output=True, timeout=100).returncode:
        pytest.skip("this machine does not let us make a user namespace")
    command = [sys.executable, "-m", "vez", "torture", "--url", f"file://{tmp_path}/turns", "--seconds", "0.5"]
    words = ["-n", "2", "--faults", "kill,clock,container,disk"]
    done = subprocess.run([*begin, script, "sh", *command, *words], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("container", "disk", "clock (monotonic)"):
        assert f"without {what}: unshare" in done.stdout, done.stdout
    assert "clock jump" in done.stdout  # the wall clock needs no namespace
    assert "full disk" not in done.stdout


def test_the_help_explains_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["torture", "--help"]) == 0
    explained = {
        line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ") and line.split()
    }
    assert set(FAULTS) <= explained


@pytest.mark.parametrize("own", CONTAINERS, ids=lambda own: own.name)
def test_a_container_has_what_its_name_says(tmp_path: Path, own: Container) -> None:
    directory = tmp_path / "turns"
    directory.mkdir()
    (directory / "here").touch()
    shared = Shared(tmp_path, directory)
    if (why := refusal(shared.command(own))) is not None:
        pytest.skip(f"this machine does not allow it: {why}")
    program = """
import os, sys
print(open("/proc/sys/kernel/random/boot_id").read().strip())
print(os.readlink("/proc/self/ns/pid"), os.readlink("/proc/self/ns/net"))
print(os.path.exists(sys.argv[1] + "/here"))
"""
    there, here = (
        subprocess.run(
            [*before, sys.executable, "-c", program, str(shared.elsewhere(own))],
            capture_output=True,
            text=True,
            timeout=100,
        ).stdout.split()
        for before in (shared.command(own), [])
    )
    assert [there[place] != here[place] for place in range(3)] == [own.boot, own.processes, own.network]
    assert (there[3], here[3]) == ("True", str(not own.mounts))


def test_times_of_a_time_namespace_are_those_of_the_campaign(tmp_path: Path) -> None:
    ahead = CONTAINERS[0]._replace(boot=False, ahead=100_000)
    shared = Shared(tmp_path, tmp_path)
    if (why := refusal(shared.command(ahead))) is not None:
        pytest.skip(f"this machine does not allow it: {why}")
    program = """
import sys, time
from pathlib import Path
from vez.testing.torture.controls import Controls
from vez.testing.torture.record import Recorder
Recorder(Path(sys.argv[1]), 1, Controls(Path(sys.argv[2])).origin).say("bare")
print(time.monotonic())
"""
    Controls(tmp_path / "controls")
    before = time.monotonic_ns()
    words = [str(tmp_path / "1.jsonl"), str(tmp_path / "controls")]
    done = subprocess.run(
        [*shared.command(ahead), sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=60
    )
    assert float(done.stdout) > before / 1e9 + 99_999
    assert before <= read_lines(tmp_path / "1.jsonl")[0].at <= time.monotonic_ns()


def test_a_relay_goes_on_until_it_is_over_and_drops_batons_of_earlier_ones(tmp_path: Path) -> None:
    controls = Controls(tmp_path / "controls")
    controls.workers = 2
    relay, recorder = Relay(tmp_path, 2), Recorder(tmp_path / "1.jsonl", 1)
    relay.begin(controls)
    controls.next_phase(CALM)
    relay.begin(controls)
    if os.fork() == 0:
        relay.run(2, controls, Recorder(tmp_path / "2.jsonl", 2))
        os._exit(0)
    if os.fork() == 0:
        eventually(lambda: len(read_lines(tmp_path / "2.jsonl")) >= 5)
        controls.next_phase(CALM)
        os._exit(0)
    relay.run(1, controls, recorder)
    os.wait()
    os.wait()
    assert controls.phase != RELAY
    counts = [len(read_lines(tmp_path / f"{worker}.jsonl")) for worker in (1, 2)]
    assert 0 <= counts[0] - counts[1] <= 1  # one baton, in turn
    relay.close()


def slices(relay_ms: float, turn_ms: float, *, rounds: int = 3) -> tuple[list[Line], list[Slice]]:
    """Relays and calm slices in turn, with so many milliseconds from one turn to the next."""
    lines, found = [], []
    for number in range(2 * rounds):
        begin, relay = number * 200 * MS, number % 2 == 0
        step = relay_ms if relay else turn_ms
        lines += [
            Line(begin + int(turn * step * MS), 1, "bare" if relay else "entered") for turn in range(int(200 / step))
        ]
        found.append(Slice(relay, begin, begin + 200 * MS))
    return lines, found


def test_turns_that_take_longer_than_a_relay_allows_are_seen() -> None:
    for turn_ms, expected in ((1.5, Status.HOLDS_IN_RUNS), (3.0, Status.HOLDS_IN_RUNS), (6.0, Status.BROKEN)):
        lines, found = slices(1.2, turn_ms)
        assert throughput.judge(lines, [], found, Slack()).status is expected
    lines, found = slices(1.2, 6.0)
    assert throughput.judge(lines, [], found, Slack(hand_over_ms=5)).status is Status.HOLDS_IN_RUNS
    assert throughput.judge(lines, [], [], Slack()).status is Status.NOT_JUDGED


def test_a_busy_machine_is_not_a_slow_engine() -> None:
    """One relay was as slow as the turns; or one of the calm slices was as quick as it should be."""
    slow, found = slices(1.2, 6.0)
    kept = [line for number, line in enumerate(slow) if not 400 * MS <= line.at < 600 * MS or number % 4 == 0]
    assert throughput.judge(kept, [], found, Slack()).status is Status.HOLDS_IN_RUNS
    quick = [Line(200 * MS + turn * 2 * MS, 1, "entered") for turn in range(100)]
    other = [line for line in slow if not 200 * MS <= line.at < 400 * MS]
    lines = sorted([*other, *quick], key=lambda line: line.at)
    assert throughput.judge(lines, [], found, Slack()).status is Status.HOLDS_IN_RUNS


@pytest.mark.parametrize(("turn_ms", "expected"), [(2, Status.HOLDS_IN_RUNS), (15, Status.BROKEN)])
def test_turns_between_the_faults_count_too(turn_ms: int, expected: Status) -> None:
    lines, found = slices(1.2, 1.5)
    begin = 2000 * MS
    faults = [Fault(begin + number * 80 * MS, 1, "interrupt") for number in range(12)]
    lines += [Line(begin + turn * turn_ms * MS, 1, "entered") for turn in range(1000 // turn_ms)]
    judged = throughput.judge(lines, faults, found, Slack())
    assert judged.status is expected
    assert "; between faults " in judged.evidence
    paused = [Fault(begin - 1, 2, "pause"), *faults]  # so nothing of it is undisturbed
    few = throughput.judge(lines, paused, found, Slack())
    assert few.status is Status.HOLDS_IN_RUNS
    assert "between faults not judged: fewer than 8 undisturbed times" in few.evidence
    disk = throughput.judge(lines, faults, found, Slack(), steady=False)
    assert disk.status is Status.HOLDS_IN_RUNS
    assert "between faults not judged: some of them make turns wait for the disk" in disk.evidence


def test_the_end_of_a_range_of_tokens_is_reached_on_purpose(tmp_path: Path) -> None:
    """Below the seam: an engine that no longer has what the fault needs would leave it out silently."""
    with connect(f"file://{tmp_path}/turns") as client:
        with client.lock("x") as grant:
            before = grant.token
        inner_faults.skip_range(client.engine, "lock", "x")
        with client.lock("x") as grant:
            assert grant.token > before + 1000
    with connect("memory:nemeses") as other:
        inner_faults.skip_range(other.engine, "lock", "x")


@pytest.mark.parametrize("what", ["fill", "free", "dance"])
def test_a_job_for_a_directory_is_refused_where_there_is_none(tmp_path: Path, what: str) -> None:
    """It would fill the disk of the current directory."""
    with connect("memory:nemeses") as client, pytest.raises(Misuse, match=what):
        jobs._run(Order(what), client, "x")


def test_a_token_of_a_range_that_is_not_on_disk_is_seen() -> None:
    def evidence(*lines: Line) -> str:
        verdict = judge(LOCK, list(lines), [], [], 0)
        return verdict.evidence if verdict.status is Status.BROKEN else ""

    def stay(at: int, token: int) -> list[Line]:
        return [Line(at, 1, "wanted"), Line(at + 1, 1, "entered", token), Line(at + 2, 1, "left", token)]

    assert evidence(*stay(1, 5)) == ""  # nobody noted what is on disk
    assert evidence(Line(0, 1, "synced", 6), *stay(1, 5)) == ""
    assert "only those below 5" in evidence(Line(0, 1, "synced", 5), *stay(1, 5))
    assert evidence(Line(0, 1, "synced", 5), *stay(1, 4), Line(9, 2, "synced", 9), *stay(10, 8)) == ""


def test_a_loss_without_a_break_and_a_break_without_a_record_are_seen() -> None:
    lines = [Line(1, 1, "wanted"), Line(2, 1, "entered", 5), Line(3 * MS, 1, "left", 5), Line(3 * MS + 1, 1, "lost")]
    assert "without any record" in judge(LOCK, lines, [], [], 0).evidence
    taken = Broken(MS, 2 * MS, "", (5,))
    assert judge(LOCK, lines, [], [taken], 0).status is Status.HOLDS_IN_RUNS
    assert "there is no record" in judge(LOCK, lines, [], [taken._replace(recorded=False)], 0).evidence
