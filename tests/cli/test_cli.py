"""The command line as a user meets it: output, JSON, errors of one line with a hint, exit codes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vez.catalogue.algorithms import ALGORITHMS
from vez.cli.app import COMMANDS, run
from vez.cli.printing import output

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture
def vez(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(line: str) -> tuple[int, str, str]:
        code = run(shlex.split(line))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_help_shows_every_command_in_its_group(vez: Any) -> None:
    code, out, _ = vez("--help")
    assert code == 0
    for title, group in COMMANDS.items():
        assert title in out
        for name in group:
            assert f"  {name} " in out
            assert vez(f"{name} --help")[0] == 0


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_runs_and_tells_all(vez: Any, name: str) -> None:
    code, out, _ = vez(f"sim {name} --json")
    found = json.loads(out)
    assert code in (0, 1)
    assert {"algorithm", "n", "seed", "events", "messages", "delays", "properties"} <= found.keys()
    assert found["algorithm"] == name
    assert found["messages"]["total"] == sum(found["messages"]["by_kind"].values())
    assert found["messages"]["total"] or name == "luis"  # which needs none
    assert {"client", "synchronization"} <= found["delays"].keys()
    assert all({"verdict", "evidence"} <= entry.keys() for entry in found["properties"].values())
    assert ("leader" in found) == (ALGORITHMS[name].role == "election")


def test_delays_and_messages_of_a_known_run(vez: Any) -> None:
    _, out, _ = vez("sim ricart-agrawala -n 4 --want 2@0 --want 3@20 --want 1@20.5 --json")
    found = json.loads(out)
    assert found["messages"] == {"total": 18, "by_kind": {"Reply": 9, "Request": 9}}
    assert found["delays"]["client"] == 2.0
    assert found["delays"]["synchronization"] == 1.0
    assert found["properties"]["exclusion"] == {
        "verdict": "holds in 1 run", "status": "holds in runs", "evidence": "3 entries, no two at once", "promised": True, "messages": [],
    }  # fmt: skip


def test_a_broken_promise_is_exit_code_1_with_the_evidence(vez: Any) -> None:
    code, out, _ = vez("sim coordinator-lease -n 3 --want 2@0+30 --want 3@1")
    assert code == 1
    assert "processes 2 and 3 were inside together from 12 to 14 ms" in out
    assert "bounded_stay (process 2 was inside for 30 ms, longer than 6)" in out


def test_what_is_not_promised_does_not_count(vez: Any) -> None:
    code, out, _ = vez("sim bully -n 4 --crash 4@20..40")
    assert "broken (not promised)" in out
    assert code == 1  # uniqueness is promised, and a returning process breaks it for a moment
    code, out, _ = vez("sim bully -n 4 --crash 4@20")
    assert code == 0
    assert "leader           3" in out


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_scenarios_end_as_expected(vez: Any, path: Path) -> None:
    code, out, _ = vez(f"sim --scenario {path} --json")
    assert code == 0
    assert json.loads(out)["unexpected"] == []


def test_a_scenario_that_ends_otherwise_says_so(vez: Any) -> None:
    code, out, _ = vez(f"sim --scenario {SCENARIOS / '14-chang-roberts.toml'} --crash 28@0")
    assert code == 1
    assert "not as expected: the leader should be 28 and is 24" in out


def test_options_go_over_the_scenario_file(vez: Any) -> None:
    _, out, _ = vez(f"sim --scenario {SCENARIOS / '03-lease-holder-slow.toml'} --set lease_ms=100 --json")
    assert json.loads(out)["unexpected"] == ["exclusion should be broken and is holds in runs"]


def test_every_fault_can_be_asked_for(vez: Any) -> None:
    line = ("sim bully -n 5 --seed 3 --delay 'uniform(0.5,1.5)' --no-fifo --loss 0.1 --duplicate 0.1 --reorder 0.2 --crash 5@10..30:amnesia "
            "--pause 2@5+10 --partition '1,2|3,4,5@8..12' --cut '1>2@3..4' --drift 2=1.5 --suspect 1:3@5..9 --elect 2@1 "
            "--crashes 1 --recoveries 1 --pauses 1 --partitions 1 --until 500 --set answer_ms=5 --json")  # fmt: skip
    code, out, _ = vez(line)
    assert code in (0, 1)
    assert json.loads(out) == json.loads(vez(line)[1])


def test_a_trace_can_be_saved_and_shown(vez: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    _, first, _ = vez(f"sim ricart-agrawala -n 3 --trace {path} --json")
    code, second, _ = vez(f"show {path} --json")
    assert code == 0
    before, after = json.loads(first), json.loads(second)
    assert {key: before[key] for key in after} == after
    assert "ricart-agrawala" in vez(f"show {path}")[1]


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", "<svg"), ("html", "<!doctype html>"), ("mmd", "sequenceDiagram"), ("txt", "")]
)
def test_the_suffix_chooses_the_picture(vez: Any, tmp_path: Path, suffix: str, start: str) -> None:
    path = tmp_path / f"run.{suffix}"
    code, out, _ = vez(f"sim coordinator -n 3 -o {path}")
    assert code == 0
    assert f"wrote {path}" in out
    assert start.lower() in path.read_text()[:300].lower()


def test_a_picture_on_standard_output_is_only_the_picture(vez: Any) -> None:
    assert vez("sim coordinator -n 3 --diagram svg")[1].lstrip().startswith(("<svg", "<?xml"))
    assert vez("sim coordinator -n 3 --diagram mermaid")[1].lstrip().startswith(("sequenceDiagram", "---", "%%"))


def test_a_sweep_reports_shrinks_and_says_how_to_see_it(vez: Any, tmp_path: Path) -> None:
    path = tmp_path / "short.toml"
    code, out, _ = vez(f"sim token-ring -n 4 --runs 30 --jobs 1 --crashes 1 --shrink {path}")
    assert code == 1
    assert "starvation_freedom" in out
    again = next(line for line in out.splitlines() if line.startswith("see it:")).removeprefix("see it:").strip()
    assert again.startswith("vez sim token-ring -n 4 --crashes 1 --delay")
    assert vez(again.removeprefix("vez ").removesuffix("--diagram text") + "--json")[0] == 1
    code, out, _ = vez(f"sim --scenario {path} --json")
    assert code == 0
    assert json.loads(out)["unexpected"] == []


def test_a_sweep_in_json(vez: Any) -> None:
    code, out, _ = vez("sim ricart-agrawala -n 3 --runs 20 --jobs 1 --json")
    found = json.loads(out)
    assert code == 0
    assert found["runs"] == 20
    assert found["delay"] == "uniform(0.5, 1.5)"
    assert found["properties"]["exclusion"]["verdict"] == "holds in 20 runs"
    assert found["properties"]["fenced_exclusion"]["not_judged"] == 20
    assert found["events"] > 20 * 40
    assert sum(found["messages"]["by_kind"].values()) == found["messages"]["total"] > 0
    assert found["delays"]["client"] > found["delays"]["synchronization"] > 0
    assert "leader" not in found


def test_a_sweep_of_elections_counts_its_leaders(vez: Any) -> None:
    found = json.loads(vez("sim bully -n 3 --runs 5 --jobs 1 --json")[1])
    assert found["leader"] == {"3": 5}


def test_a_sweep_asks_whether_every_seed_ended_as_expected(vez: Any, tmp_path: Path) -> None:
    path = SCENARIOS / "03-lease-holder-slow.toml"
    code, out, _ = vez(f"sim --scenario {path} --runs 30 --jobs 1 --json")
    assert code == 0
    assert json.loads(out)["unexpected"] == []
    other = tmp_path / "other.toml"
    other.write_text(path.read_text().replace('holds = ["', 'holds = ["exclusion", "'))
    code, out, _ = vez(f"sim --scenario {other} --runs 30 --jobs 1")
    assert code == 1
    assert "not as expected in 30 runs, first seed 0: exclusion should hold and is broken" in out


@pytest.mark.parametrize(
    ("network", "delay"),
    [("", "uniform(0.5, 1.5)"), ('[network]\ndelay = "constant(1)"', "constant(1)"), ("network.delay = 2", "2.0")],
)
def test_a_sweep_keeps_the_delay_of_its_scenario(vez: Any, tmp_path: Path, network: str, delay: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(f'algorithm = "bully"\n{network}\n')
    assert json.loads(vez(f"sim --scenario {path} --runs 2 --json")[1])["delay"] == delay


def test_a_sweep_can_be_a_debug_run(vez: Any, tmp_path: Path) -> None:
    path = tmp_path / "clock.py"
    path.write_text(
        "import itertools\nfrom vez.core import Process\nC = itertools.count()\n"
        "class A(Process):\n    x: int = 0\n    def on_start(self, io): self.x = next(C)\n"
    )
    assert vez(f"sim {path} --runs 3")[0] == 0
    code, _, err = vez(f"sim {path} --runs 3 --debug")
    assert code == 65
    assert "seed 0: A.on_start left x at" in err


@pytest.mark.parametrize(
    ("line", "code", "message", "hint"),
    [
        ("sim ricart", 64, "unknown algorithm 'ricart'", "did you mean ricart-agrawala"),
        ("smi", 64, "unknown command 'smi'", "did you mean sim"),
        ("sim", 64, "which algorithm?", "vez algorithms"),
        ("sim bully --crash 9@3", 64, "there is no process 9", "processes: 1, 2, 3, 4, 5"),
        ("sim bully --crash soon", 64, "is not of the form 3@7", "--help"),
        ("sim bully --delay later", 64, "not a duration", "--help"),
        ("sim bully -n 0", 64, "0 is not in the range", "--help"),
        ("sim bully -n 1", 64, "needs at least 2", ""),
        ("sim bully --nonsense", 64, "No such option", "--help"),
        ("sim bully --set answer=3", 64, "unknown parameter of bully 'answer'", "did you mean answer_ms"),
        ("sim bully --set answer_ms=-1", 64, "parameter answer_ms of bully: expected 0 to 1,000,000,000 ms, found -1", ""),
        ("check majority --set spread_ms=-1", 64, "parameter spread_ms of majority: expected 0 to", ""),
        ("node --id 1 --group 1,2,3 --algorithm bully --set answer_ms=-1", 64, "answer_ms of bully: expected 0 to", ""),
        ("cluster --algorithm maekawa --set voting_sets=[[1]]", 64, "1 voting sets for 5 processes", "give one for each"),
        ("sim lamport --set lease_ms=3", 64, "lamport has no parameter", "it has no parameters"),
        ("sim elected-coordinator --set election=foo", 65, "value 'foo'", "known: bully, bully-stable, chang-roberts, luis, majority"),
        ("sim --scenario missing.toml", 66, "cannot read missing.toml", ""),
        ("sim missing.py:Mine", 66, "there is no file missing.py", ""),
        ("show missing.jsonl", 66, "cannot read missing.jsonl", ""),
        ("sim coordinator -o picture.xyz", 64, "no picture format", ".svg"),
        ("sim coordinator -o nowhere/picture.svg", 73, "cannot write", ""),
        ("sim coordinator --json --diagram svg", 64, "both want standard output", "-o"),
        ("sim coordinator --runs 5 --diagram svg", 64, "a sweep of many runs", "--seed"),
        ("sim bully --want 2@0", 64, "so want does not apply", ""),
        ("sim coordinator --elect 2", 64, "not an election", ""),
        ("sim bully --ids 1,2,x", 64, "not a list of whole numbers", ""),
        ("sim bully --ids 1,1", 64, "unique", ""),
        ("sim bully --partition 1,2|9@3", 64, "there is no process 9", ""),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_a_hint(vez: Any, line: str, code: int, message: str, hint: str) -> None:
    found, out, err = vez(line)
    assert found == code
    assert out == ""
    assert message in err.splitlines()[0]
    assert hint in err
    assert len(err.splitlines()) <= 2
    assert "Traceback" not in err


def test_bad_files_are_bad_data(vez: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('algorithm = "bully"\n[[crash]]\nwho = 3\n')
    code, _, err = vez(f"sim --scenario {bad}")
    assert code == 65
    assert "bad.toml" in err
    assert vez(f"show {bad}")[0] == 65


def test_a_closed_pipe_is_no_error() -> None:
    line = f"{shlex.quote(sys.executable)} -m vez sim ricart-agrawala -n 8 --diagram mermaid | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_installed_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vez", "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("vez 0.")


def test_a_scenario_finds_its_algorithm_from_anywhere(
    vez: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "mine.py").write_text(
        "from vez.core import Mutex, Property\nclass A(Mutex):\n    guarantees = (Property.EXCLUSION,)\n"
        "    def on_want(self, io): io.enter()\n    def on_done(self, io): ...\n"
    )
    monkeypatch.chdir(tmp_path)
    assert vez("sim mine.py:A -n 5 --requests 9 --shrink sub/short.toml")[0] == 1
    assert 'algorithm = "../mine.py:A"' in Path("sub/short.toml").read_text()
    assert vez("sim --scenario sub/short.toml")[1].startswith("mine.py:A ")
    assert vez("sim mine.py:A --scenario sub/short.toml")[0] == 0
    monkeypatch.chdir(tmp_path / "sub")
    assert vez("sim --scenario short.toml")[0] == 0
    Path("here.toml").write_text('algorithm = "mine.py:A"\n')  # beside neither, but in the working directory
    monkeypatch.chdir(tmp_path)
    assert vez("sim --scenario sub/here.toml")[1].startswith("mine.py:A ")


def test_a_narrow_terminal_shows_the_evidence_below(vez: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", 40)
    out = vez("sim coordinator-lease -n 3 --want 2@0+30 --want 3@1")[1]
    assert "processes 2 and 3 were inside together from 12 to 14 ms" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 40


def test_a_delay_keeps_all_its_digits(vez: Any) -> None:
    found = json.loads(vez("sim coordinator -n 3 --want 2 --delay 1234.5678 --until 9000 --json")[1])
    assert found["delays"]["client"] == pytest.approx(2 * 1234.568)
    assert json.loads(vez("sim bully --runs 1 --delay 1234.5678 --json")[1])["delay"] == "constant(1234.5678)"


def test_a_protocol_of_ones_own_is_described(vez: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        '"""Everybody at [once]."""\nfrom vez.core import Mutex, Parameter, Property\nclass Mine(Mutex):\n'
        "    guarantees = (Property.EXCLUSION,)\n    lease_ms: Parameter[float] = 3.0\n"
    )
    code, out, _ = vez(f"algorithms {path}:Mine")
    assert code == 0
    assert out.startswith("Mine  Everybody at [once].")
    assert "promises exclusion" in out
    assert json.loads(vez(f"algorithms {path} --json")[1])["parameters"] == {"lease_ms": 3.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
        ("def broken(:\n", "mine.py, line 1: SyntaxError: invalid syntax\n"),
        ("from vez.core import Mutex\nclass A(Mutex):\n    q = []\n", "'q' is a list that everybody would share"),
        ("from vez.core import Mutex\nclass A(Mutex):\n    k: int\n", "field 'k' has no default"),
        (
            "from vez.core import Mutex\nclass A(Mutex):\n    def on_want(self, io): 1 / 0\n",
            "mine.py:3: A.on_want raised",
        ),
    ],
)
@pytest.mark.parametrize("more", ["", "--runs 60 --jobs 2"])
def test_mistakes_in_a_protocol_of_ones_own(vez: Any, tmp_path: Path, text: str, message: str, more: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    code, out, err = vez(f"sim {path} {more}")
    assert (code, out) == (65, "")
    assert message in err
    assert len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("count", "what", "words"),
    [(1, "run", "1 run"), (2, "run", "2 runs"), (1, "entry", "1 entry"), (3000, "entry", "3,000 entries"),
     (2, "process", "2 processes"), (0, "hand-over", "0 hand-overs")],
)  # fmt: skip
def test_things_are_counted_in_good_english(count: int, what: str, words: str) -> None:
    assert output.counted(count, what) == words


def test_one_of_a_kind_is_no_mean(vez: Any) -> None:
    out = vez("sim coordinator -n 3 --want 2")[1]
    assert "client delay     2 ms (1 free entry)" in out
    assert "synchronization  nobody was waiting" in out
    assert vez("sim bully --runs 1")[1].startswith("bully  1 run, seed 0, delay uniform(0.5, 1.5), ")
