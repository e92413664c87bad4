"""`vez check`, `vez verify` and `vez threads`, as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from vez.cli.app import run
from vez.core.trace_file import load


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_verdict_names_the_configuration_for_which_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(capsys, "check", "ricart-agrawala", "-n", "2", "--requests", "2")
    assert code == 0
    assert found["complete"]
    assert found["configuration"] == "n=2, 2 requests each, any order of delivery, no faults"
    assert found["properties"]["exclusion"]["status"] == "holds"
    assert found["counterexamples"] == {}


def test_a_violation_is_written_as_scenario_trace_and_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scenario, trace, picture = (str(tmp_path / name) for name in ("run.toml", "run.jsonl", "run.svg"))
    code, found = ask(
        capsys, "check", "coordinator-lease", "--without", "bounded_stay",
        "--save-scenario", scenario, "--trace", trace, "-o", picture,
    )  # fmt: skip
    assert code == 1
    assert found["properties"]["exclusion"]["promised"]
    assert Path(picture).read_text().startswith("<svg")
    code, replayed = ask(capsys, "sim", "--scenario", scenario)
    assert code == 0, "the scenario expects the violation, so ending so is as expected"
    assert replayed["properties"]["exclusion"]["status"] == "broken"
    assert len(load(Path(trace)).events) == replayed["events"]


def test_what_was_never_promised_does_not_fail_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(capsys, "check", "maekawa", "--property", "deadlock_freedom")
    assert found["properties"]["deadlock_freedom"] == {
        "verdict": "broken",
        "status": "broken",
        "evidence": found["properties"]["deadlock_freedom"]["evidence"],
        "promised": False,
    }
    assert code == 0


def test_the_shortest_run_is_printed_with_its_point_of_no_return(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "ricart-agrawala", "--crashes", "1", "--property", "deadlock_freedom"]) == 1
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    at = next(number for number, line in enumerate(lines) if "no way back" in line)
    assert "crashes" in lines[at - 2]
    assert "wants in" in lines[at - 1]


def test_a_limit_is_told_and_nothing_is_said_to_hold(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(capsys, "check", "lamport", "--max-states", "2000")
    assert code == 2
    assert not found["complete"]
    assert found["states"] > 2000, "a batch is finished once it is begun"
    assert found["stopped"] == "past the limit of 2,000 states (--max-states)"
    assert {entry["status"] for entry in found["properties"].values()} == {"undecided"}


def test_ctrl_c_stops_cleanly_and_tells_what_was_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: object, text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vez.cli.printing.progress.Line.show", interrupt)
    code, found = ask(capsys, "check", "lamport")
    assert code == 130
    assert found["stopped"] == "by Ctrl-C"
    assert "no violation in what was explored" in found["properties"]["exclusion"]["evidence"]


def test_ctrl_c_among_the_loops_keeps_what_the_search_has_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: object, name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vez.worlds.check.liveness.lassos.Liveness._failing_loop", interrupt)
    code, found = ask(capsys, "check", "token-ring", "--requests", "forever")
    assert (code, found["complete"], found["stopped"]) == (130, False, "by Ctrl-C")
    assert found["properties"]["exclusion"]["status"] == "holds"
    assert found["properties"]["starvation_freedom"]["status"] == "undecided"
    assert "before endless runs" in found["properties"]["starvation_freedom"]["evidence"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["check", "ricart-agrawal"], 64, "did you mean"),
        (["check", "bully", "--without", "fifo"], 64, "does not assume fifo"),
        (["check", "bully", "--without", "unique_ids"], 64, "cannot be turned off"),
        (["check", "bully", "--without", "luck"], 64, "unknown assumption"),
        (["check", "bully", "--property", "exclusion"], 64, "bully has no property exclusion"),
        (["check", "token-ring", "--property", "request_order", "--requests", "forever"], 64, "--requests 2"),
        (["check", "bully", "--recoveries", "1"], 64, "nobody crashes"),
        (["check", "lamport", "--requests", "often"], 64, "expected a number or `forever`"),
        (["check", "lamport", "--bound", "clack=3"], 64, "clock"),
        (["check", "lamport", "--bound", "clock=much"], 64, "expected a whole number"),
        (["check", "lamport", "--bound", "clock=-1"], 64, "the initial state is already beyond the bounds"),
        (["check", "majority", "--bound", "state=3"], 64, "holds 'FOLLOWER', which is not a number"),
        (["check", "coordinator", "--bound", "queue=3"], 64, "or queue.0, the first value in it"),
        (["check", "coordinator", "--bound", "queue.x=3"], 64, "expected the place of a value"),
        (["check", "coordinator", "--amnesia"], 64, "no effect without --recoveries"),
        (["check", "coordinator", "--mistakes", "1"], 64, "listens to no failure detector"),
        (["check", "coordinator", "-o", "run.xyz"], 64, "no picture format"),
        (["check", "threads:counter", "--crashes", "1", "-n", "3"], 64, "--crashes, -n: not for programs of threads"),
        (["check", "threads:counter", "-o", "lost.svg"], 64, "text or Mermaid"),
        (["check", "threads:counter", "--set", "threads=0"], 64, "at least one thread"),
        (["verify", "coordinator", "-o", "verdicts"], 64, "is not the name of a format"),
        (["check", "lamport", "--victims", "9", "--crashes", "1"], 64, "there is no process 9"),
        (["check", "threads:count"], 64, "did you mean counter"),
        (["check", "threads:nowhere.py:main"], 66, "there is no file"),
        (["verify", "bulli"], 64, "did you mean"),
        (["threads", "counter", "--threads", "0"], 64, "0"),
        (["threads", "counter", "--set", "rounds=3"], 64, "--set: not for counter"),
        (["threads", "two-locks", "--threads", "3"], 64, "--threads: not for two-locks"),
    ],
)
def test_mistakes_get_one_line_and_a_hint(
    arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    told = capsys.readouterr().err
    assert says in told
    assert "Traceback" not in told


def test_verify_tells_promises_broken_from_assumptions_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(capsys, "verify", "token-ring")
    assert code == 0
    assert found["surprises"] == 0
    worlds = {row["world"]: row for row in found["rows"]}
    assert worlds["nothing goes wrong"]["assumptions_kept"]
    assert worlds["1 crash"]["properties"]["starvation_freedom"]["status"] == "broken"
    assert not worlds["1 crash"]["assumptions_kept"]


def test_verify_writes_a_page_with_a_command_for_every_broken_cell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    assert run(["verify", "coordinator", "-o", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    text = page.read_text()
    commands = re.findall(r"`(vez check [^`]* --diagram text)`", text)
    assert len(commands) == len(set(commands)) == text.count("**broken** (") > 0
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"], "no pictures beside it"


def test_an_endless_run_is_replayed_and_drawn_with_its_loop(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scenario = str(tmp_path / "loop.toml")
    assert run(["check", "dolev-klawe-rodeh", "--duplicates", "1", "--save-scenario", scenario]) == 1
    assert "from here on for ever" in capsys.readouterr().out
    for kind, words in (("text", "┌ from here on for ever"), ("mermaid", "loop for ever"), ("svg", "↻ from here on")):
        assert run(["sim", "--scenario", scenario, "--diagram", kind]) == 0
        assert words in capsys.readouterr().out


RAISES = """
from vez.core import Io, Mutex


class Frail(Mutex):
    \"""Raises when it is asked.\"""

    name = "frail"

    def on_want(self, io: Io) -> None:
        raise ValueError("no")

    def on_done(self, io: Io) -> None:
        pass
"""


@pytest.mark.parametrize(("words", "advice"), [("en", "repair the handler"), ("pt", "corrija o tratador")])
def test_after_an_exception_the_next_step_is_to_repair_the_handler(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, advice: str
) -> None:
    (tmp_path / "frail.py").write_text(RAISES)
    monkeypatch.setenv("VEZ_LANG", words)
    assert run(["check", f"{tmp_path}/frail.py:Frail", "-n", "2"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert advice in told
    assert "--max-states" not in told


def test_after_the_first_violation_the_next_step_is_to_judge_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "coordinator-lease", "-n", "3", "--without", "bounded_stay", "--first"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "stopped at the first violation (--first)" in told
    assert "next: leave --first out" in told
    assert "--max-states" not in told


def test_a_program_of_threads_that_stops_at_a_limit_says_at_which(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = ["check", "threads:counter", "--set", "threads=4", "--set", "rounds=4", "--set", "lock=step"]
    assert run([*large, "--max-states", "3000"]) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert "stopped past the limit of 3,000 states (--max-states)" in told
    assert "no violation in what was explored claim" in told
    assert "next: fewer threads or rounds" in told
    code, found = ask(capsys, *large, "--max-memory", "1")
    assert (code, found["complete"]) == (2, False)
    assert found["stopped"].endswith("MiB (--max-memory)")

    def interrupt(self: object, text: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vez.cli.printing.progress.Line.show", interrupt)
    code, found = ask(capsys, *large)
    assert (code, found["stopped"]) == (130, "by Ctrl-C")


def test_what_a_real_thread_raises_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from vez.threads import Program, read\n"
        "def broken():\n"
        "    def body():\n"
        "        yield read('x')\n"
        "        raise ValueError('oops')\n"
        "    return Program({'x': 0}, {'T': body})\n"
    )
    assert run(["threads", f"{file}:broken"]) != 0
    assert "mine.py:5: body raised ValueError: oops (on a real thread)" in " ".join(capsys.readouterr().err.split())


def test_threads_are_explored_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(capsys, "check", "threads:two-locks")
    assert code == 1
    assert found["wait_for"] == {
        "T1": {"waits_for": "lock1", "held_by": "T2"},
        "T2": {"waits_for": "lock2", "held_by": "T1"},
    }
    code, found = ask(capsys, "threads", "counter", "--threads", "3", "--rounds", "100", "--lock", "loop")
    assert code == 0
    assert found["runs"][0]["found"] == 300
    code, found = ask(capsys, "threads", "ring", "--threads", "5", "--letters", "12", "--seed", "4", "--sleep", "0")
    assert found["received"] == found["sent"].upper()


_FAULTY = """
from vez.core import Io, Message, Mutex, Process

class Hello(Message):
    pass

class Faulty(Mutex):
    seen: tuple = ()

    def on_want(self, io: Io) -> None:
        io.broadcast(Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        {body}

    def on_done(self, io: Io) -> None:
        pass
"""


@pytest.mark.parametrize(
    ("body", "words", "code"),
    [
        ("raise ValueError('no')", "faulty.py:14: Faulty.on_hello raised ValueError: no (process ", 1),
        ("1 // 0", "faulty.py:14: Faulty.on_hello raised ZeroDivisionError", 1),
        ("self.other = 1", "no field 'other'", 1),
        ("io.sendd(1, Hello())", "did you mean io.send?", 1),
        ("raise SystemExit(3)", "SystemExit: 3", 1),
        ("self.seen = ([],)", "a value that can change in place", 65),
    ],
)
def test_a_mistake_in_the_users_file_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    body: str,
    words: str,
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("faulty.py").write_text(_FAULTY.format(body=body))
    assert run(["check", "faulty.py:Faulty", "-n", "2"]) == code
    output = capsys.readouterr()
    told = " ".join((output.out if code == 1 else output.err).split())
    assert words in told
    assert "bug in vez" not in told


def test_a_mistake_in_a_program_of_threads_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from vez.threads import Program, read\n"
        "def body():\n"
        "    value = yield read('x')\n"
        "    raise ValueError(value)\n"
        "def mine():\n"
        "    return Program({'x': 0}, {'T': body})\n"
    )
    assert run(["check", "threads:mine.py:mine"]) == 65
    assert "mine.py:4: body raised ValueError: 0 (thread T)" in capsys.readouterr().err


EXPLODING = """
from vez.core import Io, Message, Mutex, Process


class Ping(Message):
    pass


class Exploding(Mutex):
    def on_want(self, io: Io) -> None:
        io.broadcast(Ping())

    def on_ping(self, message: Ping, sender: int, io: Io) -> None:
        raise ValueError("boom")

    def on_done(self, io: Io) -> None:
        pass


class Still(Process):
    pass
"""


def test_a_handler_that_raises_is_broken_drawn_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, scenario, picture = tmp_path / "mine.py", tmp_path / "boom.toml", tmp_path / "boom.txt"
    file.write_text(EXPLODING)
    code, found = ask(capsys, "check", f"{file}:Exploding", "-n", "2", "--save-scenario", str(scenario))
    assert code == 1
    assert found["properties"]["no_exceptions"]["status"] == "broken"
    assert found["counterexamples"]["no_exceptions"]["steps"][-1].endswith("; it raises ValueError: boom")
    assert run(["sim", "--scenario", str(scenario), "-o", str(picture)]) == 0, "the scenario expects it"
    assert "on_ping raised ValueError: boom" in picture.read_text()
    capsys.readouterr()
    unexpected = tmp_path / "other.txt"
    assert run(["sim", f"{file}:Exploding", "-n", "2", "-o", str(unexpected)]) == 65
    assert "on_ping raised ValueError: boom" in unexpected.read_text()
    assert "boom" in capsys.readouterr().err
    assert run(["check", f"{file}:Still"]) == 2


def test_what_a_reduction_left_open_is_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = ask(capsys, "check", "token-ring", "--requests", "forever", "--symmetry")
    assert found["properties"]["starvation_freedom"]["status"] == "not judged"
    assert code == 2
    code, _ = ask(capsys, "check", "token-ring", "--requests", "forever", "--symmetry", "--property", "exclusion")
    assert code == 0
