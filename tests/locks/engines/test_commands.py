"""`vez run`, `status`, `break`, `elect` and `observe`, as real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vez
from tests.processes import is_alive, stop_outside_of_the_doorway
from vez.testing import eventually

Start = Callable[..., subprocess.Popen[str]]


def finish(process: subprocess.Popen[str], text: str | None = None) -> tuple[int, str, str]:
    out, err = process.communicate(text, timeout=90)
    return process.returncode, out, err


def holders(client: vez.Client, name: str = "x", kind: Any = "lock") -> int:
    return len(client.inspect(name, kind).holders)


def test_the_command_gets_lock_token_and_input_and_its_code_comes_back(start: Start) -> None:
    script = "read line; echo $VEZ_LOCK $VEZ_TOKEN $line; exit 3"
    code, out, _ = finish(start("run", "x", "--", "sh", "-c", script), "hello\n")
    assert code == 3
    name, token, line = out.split()
    assert (name, line) == ("x", "hello")
    assert int(token) > 0


def test_options_of_the_command_are_its_own(start: Start) -> None:
    assert finish(start("run", "x", "--", "echo", "--wait", "-q"))[1] == "--wait -q\n"


def test_busy_codes(start: Start, client: vez.Client) -> None:
    with client.lock("x"):
        attempts = [
            start("run", "x", "--no-wait", "--", "true"),
            start("run", "x", "--wait", "0.1", "--", "true"),
            start("run", "x", "--no-wait", "--busy-code", "9", "--", "true"),
        ]
        results = [finish(attempt) for attempt in attempts]
    assert [code for code, _, _ in results] == [75, 75, 9]
    assert "vez: lock 'x' was not granted" in results[0][2]
    assert "vez status x" in results[0][2]


@pytest.mark.parametrize("kind", [(), ("--shared",), ("--semaphore", "1"), ("--leader",)])
def test_a_short_command_keeps_the_lock_for_the_shortest_stay(
    start: Start, client: vez.Client, kind: tuple[str, ...]
) -> None:
    """So that a second host whose clock is late does not run the job again."""
    first = start("run", "x", *kind, "--at-least", "60", "--json", "--", "sh", "-c", "exit 3")
    assert first.stderr is not None
    for line in first.stderr:
        event = json.loads(line)
        if event["event"] == "staying":
            break
    assert 50 < event["seconds"] <= 60
    assert finish(start("run", "x", "--no-wait", *(() if kind == ("--shared",) else kind), "--", "true"))[0] == 75
    first.send_signal(signal.SIGINT)  # the rest of the stay can be cut short
    assert first.wait(90) == 130
    assert finish(start("run", "x", "--no-wait", "--", "true"))[0] == 0


def test_a_forced_release_of_the_rest_of_the_stay_does_not_concern_the_command(
    start: Start, client: vez.Client
) -> None:
    first = start("run", "x", "--at-least", "3", "--json", "--", "sh", "-c", "exit 3")
    assert first.stderr is not None
    assert any('"staying"' in line for line in first.stderr)
    assert client.break_lock("x", "a test") is not None
    assert first.wait(90) == 3


def test_a_command_that_takes_longer_than_the_shortest_stay_is_not_held_up(start: Start) -> None:
    code, out, err = finish(start("run", "x", "--at-least", "0.01", "--json", "--", "sh", "-c", "sleep 0.1; exit 3"))
    assert (code, out) == (3, "")
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["granted", "ended"]


def test_hints_name_the_engine_that_was_asked(start: Start, tmp_path: Path, client: vez.Client) -> None:
    url = f"file://{tmp_path}/two%20words"
    with vez.connect(url) as other, other.lock("x"):
        _, _, told = finish(start("run", "x", "--url", url, "--no-wait", "--", "true"))
    assert told.endswith(f"see who holds it: vez status x --url {url}\n")
    with client.lock("x"):
        _, _, told = finish(start("run", "x", "--url", client.url, "--wait", "0.1", "--", "true"))
    assert told.endswith("see who holds it: vez status x\n"), "the one of VEZ_URL"
    running = start("run", "y", "--url", url, "--", "sleep", "60")
    with vez.connect(url) as other:
        eventually(lambda: bool(other.inspect("y").holders))
        other.break_lock("y", "test")
    assert f"vez status y --url {url}" in finish(running)[2]


def test_missing_commands_and_wrong_options(start: Start) -> None:
    assert finish(start("run", "x", "--", "/no/such/command"))[0] == 127
    assert finish(start("run", "x", "--", "/etc/passwd"))[0] == 126
    assert finish(start("run", "x", "--leader", "--shared", "--", "true"))[0] == 64
    assert finish(start("run", "x y", "--", "true"))[0] == 64


def test_it_waits_tells_who_holds_and_then_runs(start: Start, client: vez.Client) -> None:
    with client.lock("x", label="me"):
        process = start("run", "x", "--", "echo", "in")
        assert process.stderr is not None
        err = process.stderr.readline()  # printed while it waits
    code, out, _ = finish(process)
    assert (code, out) == (0, "in\n")
    assert "1 before us" in err
    assert f"process {os.getpid()} (me)" in err


def test_interrupted_while_waiting_leaves_nothing(start: Start, client: vez.Client) -> None:
    with client.lock("x"):
        process = start("run", "x", "--", "true")
        eventually(lambda: len(client.inspect("x").queue) == 1, "waiting")
        process.send_signal(signal.SIGINT)
        assert finish(process)[0] == 130
        assert client.inspect("x").queue == ()


def test_signals_go_to_the_command(start: Start, client: vez.Client) -> None:
    script = "trap 'echo usr1' USR1; trap 'echo term; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    process = start("run", "x", "--", "sh", "-c", script)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGUSR1)
    assert process.stdout.readline() == "usr1\n"
    process.send_signal(signal.SIGTERM)
    assert finish(process)[:2] == (5, "term\n")
    assert holders(client) == 0


def test_a_command_killed_by_a_signal(start: Start) -> None:
    assert finish(start("run", "x", "--", "sh", "-c", "kill -9 $$"))[0] == 137


def test_on_loss_the_group_gets_term_then_kill_before_the_next(
    start: Start, client: vez.Client, tmp_path: Path
) -> None:
    """The command ignores TERM and has a child; both must have ended when another is granted."""
    script = "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo $$ $!; while :; do sleep 0.05; done"
    process = start("run", "x", "--kill-after", "0.3", "--", "sh", "-c", script)
    assert process.stdout is not None
    pids = [int(word) for word in process.stdout.readline().split()]
    assert client.break_lock("x", "a test") is not None
    with client.lock("x"):
        assert [is_alive(pid) for pid in pids] == [False, False]
    code, _, err = finish(process)
    assert code == 76
    assert "was lost, and the command was ended: it was broken by force" in err


def test_on_loss_a_polite_command_goes_at_once(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--kill-after", "1000", "--", "sh", "-c", "echo ready; exec sleep 1000")
    assert process.stdout is not None
    process.stdout.readline()
    begun = time.monotonic()
    assert client.break_lock("x", "a test") is not None
    assert finish(process)[0] == 76
    assert time.monotonic() - begun < 100  # far from the thousand seconds of patience


def test_killed_vez_run_takes_its_command_along(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--", "sh", "-c", "echo $$; exec sleep 1000")
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    eventually(lambda: not is_alive(child), "the command's end")
    assert client.lock("x").acquire(10).token > 0


def test_what_left_the_group_of_a_command_that_ended_does_not_keep_the_turn(start: Start, client: vez.Client) -> None:
    script = "setsid sh -c 'echo $$; exec sleep 1000 > /dev/null 2>&1' & read line"
    process = start("run", "x", "--", "sh", "-c", script)
    assert process.stdout is not None
    daemon = int(process.stdout.readline())
    assert finish(process, "\n")[0] == 0
    client.lock("x").acquire(10).release()
    assert is_alive(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_semaphore_and_shared(start: Start, client: vez.Client) -> None:
    for words, kind in ((("--semaphore", "2"), "semaphore"), (("--shared",), "lock")):
        two = [start("run", "x", *words, "--", "sh", "-c", "echo in; read line") for _ in range(2)]
        for process in two:
            assert process.stdout is not None
            assert process.stdout.readline() == "in\n"
        assert holders(client, "x", kind) == 2
        assert [finish(process, "\n")[0] for process in two] == [0, 0]
    assert finish(start("run", "x", "--semaphore", "0", "--", "true"))[0] == 64


def test_leader_runs_again_when_elected_again(start: Start, client: vez.Client) -> None:
    process = start("run", "x", "--leader", "--", "sh", "-c", "echo $VEZ_TOKEN; exec sleep 1000")
    assert process.stdout is not None
    first = int(process.stdout.readline())
    assert client.break_lock("x", "a test", "election") is not None
    assert int(process.stdout.readline()) > first
    process.terminate()
    assert finish(process)[0] == 143


def test_a_leader_deposed_before_it_knew_stands_again(start: Start, client: vez.Client, tmp_path: Path) -> None:
    def queue() -> list[int]:
        return [who.pid for who in client.inspect("x", "election").queue]

    with client.election("x", label="first"):
        command = ("sh", "-c", "echo $VEZ_TOKEN; exec sleep 1000")
        process = start("run", "x", "--leader", "--kill-after", "0", "--", *command)
        eventually(lambda: queue() == [process.pid], "a candidate")
        stop_outside_of_the_doorway(process, tmp_path / "turns" / "election.x")
    assert next(client.election("x").observe()) is not None  # whoever looks elects
    assert client.break_lock("x", "it stands still", "election") is not None
    with client.election("x", label="other", timeout=10) as other:
        process.send_signal(signal.SIGCONT)
        eventually(lambda: queue() == [process.pid], "a candidate again")
    assert process.stdout is not None
    assert int(process.stdout.readline()) > other.term


def test_events_as_json(start: Start, client: vez.Client) -> None:
    with client.lock("x"):
        process = start("run", "x", "--json", "--", "true")
        assert process.stderr is not None
        first = process.stderr.readline()
    _, _, rest = finish(process)
    events = [json.loads(line) for line in (first, *rest.splitlines())]
    assert [event["event"] for event in events] == ["waiting", "granted", "ended"]
    assert events[-1]["exit_code"] == 0


def test_status_break_and_their_json(start: Start, client: vez.Client) -> None:
    grant = client.lock("x", label="[bold]me").acquire()
    _, out, _ = finish(start("status"))
    assert "[bold]me" in out
    assert str(grant.token) in out
    seen = json.loads(finish(start("status", "x", "--json"))[1])["names"][0]
    assert seen["holders"][0]["token"] == grant.token
    code, out, _ = finish(start("break", "x", "--reason", "stuck"))
    assert (code, str(grant.token) in out) == (0, True)
    assert grant.lost
    with pytest.raises(vez.OwnershipLost):
        grant.release()
    assert finish(start("break", "x"))[0] == 1
    assert "stuck" in finish(start("status", "x"))[1]
    assert "nobody" in finish(start("status"))[1]


def test_status_of_the_names_with_a_prefix(start: Start, client: vez.Client) -> None:
    with client.lock("shop/a"), client.lock("shop/b"), client.lock("other"):
        for words, names in ((["--prefix", "shop/"], ["shop/a", "shop/b"]), (["--prefix", "x"], [])):
            found = json.loads(finish(start("status", *words, "--json"))[1])["names"]
            assert [one["name"] for one in found] == names
    code, _, err = finish(start("status", "other", "--prefix", "shop/"))
    assert code == 64
    assert "NAME and --prefix exclude each other" in err


def test_elect_and_observe(start: Start, client: vez.Client) -> None:
    observer = start("observe", "x")
    assert observer.stdout is not None
    assert observer.stdout.readline() == "nobody leads\n"
    leader = start("elect", "x", "--label", "anna", "--json")
    assert leader.stdout is not None
    term = json.loads(leader.stdout.readline())["term"]
    line = observer.stdout.readline()
    assert line.startswith("anna (process")
    assert f"term {term}" in line
    assert json.loads(finish(start("observe", "x", "--once", "--json"))[1])["leader"]["term"] == term
    leader.send_signal(signal.SIGINT)
    assert finish(leader)[0] == 130
    assert observer.stdout.readline() == "nobody leads\n"
    assert finish(start("observe", "x", "--once"))[0] == 1
    assert finish(start("elect", "x", "--for", "0"))[0] == 0


@pytest.mark.parametrize("words", [
    ("run", "x", "--", "true"), ("status",), ("break", "x"), ("elect", "x"), ("observe", "x", "--once"),
])  # fmt: skip
def test_a_space_within_one_process_is_refused(start: Start, words: tuple[str, ...]) -> None:
    code, _, err = finish(start(*words[:1], "--url", "memory:", *words[1:]))
    assert code == 64
    assert "would exclude nobody" in err


def test_one_damaged_file_does_not_hide_the_others(start: Start, client: vez.Client, tmp_path: Path) -> None:
    home = tmp_path / "turns"
    (home / "lock.directory").mkdir()
    (home / "lock.link").symlink_to("nowhere")
    (home / "lock.short").write_bytes(b"VEZTURN1")
    with client.lock("x"):
        code, out, _ = finish(start("status", "--json"))
    names = {seen["name"]: seen for seen in json.loads(out)["names"]}
    assert code == 65
    assert len(names["x"]["holders"]) == 1
    assert all("damaged" in names[name] for name in ("directory", "link", "short"))
    code, out, _ = finish(start("status"))
    assert code == 65
    assert {"directory", "link", "short"} <= {line.split()[0] for line in out.splitlines() if line}


def test_a_name_that_nobody_uses(start: Start, client: vez.Client) -> None:
    with client.lock("x"):
        code, out, _ = finish(start("status", "nosuch"))
        assert (code, "for 'nosuch'" in out) == (0, True)
        assert finish(start("break", "nosuch"))[0] == 1
    assert client.locks() == ["x"]


def test_run_within_run_of_the_same_name_is_refused(start: Start, client: vez.Client) -> None:
    within = [sys.executable, "-m", "vez", "run"]
    code, _, err = finish(start("run", "x", "--", *within, "x", "--", "true"))
    assert (code, "which started this one" in err) == (64, True)
    assert "lock 'x' is already held by the outer `vez run` (process " in err
    assert finish(start("run", "x", "--", *within, "y", "--", *within, "x", "--", "true"))[0] == 64
    assert finish(start("run", "x", "--", *within, "--no-wait", "x", "--", "true"))[0] == 75
    assert finish(start("run", "--semaphore", "2", "x", "--", *within, "--semaphore", "2", "x", "--", "true"))[0] == 0
    claims = json.dumps([{"url": client.url, "kind": "lock", "name": "x", "token": 1}])
    for claim in (claims, "[", "{}"):  # a process that claims a lock need not hold it
        environment = {**os.environ, "VEZ_URL": client.url, "VEZ_HELD": claim}
        done = subprocess.run([*within, "x", "--", "true"], env=environment, check=False, timeout=60)
        assert done.returncode == 0


@pytest.mark.parametrize("spelling", ["link/turns", "other/../turns"])
def test_run_within_run_is_refused_however_the_directory_is_spelled(
    start: Start, tmp_path: Path, spelling: str
) -> None:
    """Without the refusal it waited for itself, for ever."""
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    within = [sys.executable, "-m", "vez", "run", "--url", f"file://{tmp_path}/{spelling}", "--wait", "5", "x"]
    code, _, err = finish(start("run", "x", "--", *within, "--", "true"))
    assert (code, "which started this one" in err) == (64, True)


def test_run_ends_its_command_when_the_file_is_removed(start: Start, client: vez.Client, tmp_path: Path) -> None:
    process = start("run", "--kill-after", "0", "x", "--", "sleep", "60")
    eventually(lambda: holders(client) == 1, "inside")
    (tmp_path / "turns" / "lock.x").unlink()
    assert finish(process)[0] == 76


def test_options_of_the_command_reach_it(start: Start) -> None:
    code, out, _ = finish(start("run", "x", "echo", "--shared", "--json", "hello"))
    assert (code, out) == (0, "--shared --json hello\n")
    code, out, _ = finish(start("run", "x", "--shared", "--", "echo", "--json"))
    assert (code, out) == (0, "--json\n")


@pytest.mark.parametrize(
    "command",
    ["echo 1 -- 2", "echo -q --wait 5 -- x", "echo --json -h -- --", "echo -- --no-wait", "echo --url nowhere: -- x"],
)
@pytest.mark.parametrize("before", ["", "-- "])
def test_a_double_dash_of_the_command_is_the_commands_own(start: Start, before: str, command: str) -> None:
    """`vez run x git checkout -- FILE` must not become `git checkout FILE`."""
    code, out, _ = finish(start("run", "x", *f"{before}{command}".split()))
    assert (code, out) == (0, command.removeprefix("echo ") + "\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--waitt", "3", "x", "--", "true"], "No such option '--waitt'. (Did you mean one of: '--no-wait', '--wait'"),
        (["x", "--shared", "true"], "--shared stands after NAME, where COMMAND begins"),
    ],
)
def test_a_misplaced_option_is_named(start: Start, words: list[str], said: str) -> None:
    code, _, err = finish(start("run", *words))
    assert code == 64
    assert said in err
