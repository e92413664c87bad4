"""The failures of which the texts warn, with real processes: each scenario runs until it fails, as asserted.

The steps wait for each other, not for a time. Every run is still a possible run of its algorithm, and the broken
property holds in no row of the verification matrix.
"""

from __future__ import annotations

from pathlib import Path

from tests.worlds.campaign.cases import LinkFault
from tests.worlds.campaign.judgement import Judgement, judge_run
from tests.worlds.campaign.real import Behind, Script, run_real
from vez.catalogue.algorithms import find
from vez.core.assumptions import Assumption
from vez.judge.properties import Status
from vez.judge.properties.assumptions import broken_assumptions
from vez.worlds.sim.scenario import Elect, Scenario, Workload

NEVER = 1e6
"""A time that never comes: the script makes the requests instead."""


def play(scenario: Scenario, script: Script, folder: Path) -> tuple[Judgement, set[Assumption]]:
    """Run a script. Returns the judgement, and the assumptions that the run did not keep."""
    algorithm = find(scenario.algorithm)
    trace = run_real(scenario, algorithm, folder, script=script, hopeful=False)
    found = judge_run(trace, scenario.algorithm, algorithm, scenario.parameters)
    assert not found.contradictions, found.contradictions
    return found, set(broken_assumptions(trace))


def statuses(found: Judgement) -> dict[str, Status]:
    return {name: verdict.status for name, verdict in found.verdicts.items()}


def mutex(algorithm: str, n: int, **parameters: float) -> Scenario:
    return Scenario(algorithm=algorithm, n=n, parameters=parameters, workload=Workload(requests=0))


def is_inside(running: Behind, process: int) -> bool:
    return running.inside.get(process) == "inside"


def want(running: Behind, *processes: int) -> None:
    """Want in, and stay until the end of the run."""
    for process in processes:
        running.inside[process] = "waiting"
        running.members[process].do("want")


def test_a_lease_runs_out_on_a_paused_holder(tmp_path: Path) -> None:
    async def script(running: Behind) -> None:
        want(running, 2)
        await running.until(lambda: is_inside(running, 2))
        await running.pause(2)
        want(running, 3)
        await running.until(lambda: is_inside(running, 3))
        await running.resume(2)
        running.end()

    found, unkept = play(mutex("coordinator-lease", 3), script, tmp_path)
    assert statuses(found)["exclusion"] is Status.BROKEN
    assert Assumption.KNOWN_BOUNDS in unkept


def test_a_coordinator_forgets_its_permission(tmp_path: Path) -> None:
    """4 is inside with the permissions of 1 and 2. 2 forgets and gives its permission to 5, which has that of 3."""

    async def script(running: Behind) -> None:
        running.hold(4, 3)
        want(running, 4)
        await running.until(lambda: is_inside(running, 4))
        await running.crash(2)
        await running.until(lambda: 2 not in running.members[5].linked)  # requests of 5 now wait for 2 to return
        want(running, 5)
        await running.until(lambda: running.members[5].status.get("received", 0) >= 1)  # 3 permits
        await running.recover(2, memory=False)
        await running.until(lambda: is_inside(running, 5))
        running.end()

    found, unkept = play(mutex("quorum", 5, coordinators=3, quorum=2), script, tmp_path)
    assert statuses(found)["exclusion"] is Status.BROKEN
    assert unkept == {Assumption.NO_RECOVERY}
    assert found.happened.forgot


def test_three_participants_with_one_permission_each_wait_for_ever(tmp_path: Path) -> None:
    async def script(running: Behind) -> None:
        for participant, first in ((4, 1), (5, 2), (6, 3)):
            running.hold(participant, *({1, 2, 3} - {first}))
        want(running, 4, 5, 6)
        await running.until(lambda: all(running.members[one].status.get("received") == 1 for one in (4, 5, 6)))
        for participant in (4, 5, 6):
            running.pass_on(participant, 1, 2, 3)

    found, unkept = play(mutex("quorum", 6), script, tmp_path)
    assert statuses(found)["deadlock_freedom"] is Status.BROKEN
    assert statuses(found)["exclusion"] is Status.HOLDS_IN_RUNS
    assert unkept == set()


def test_the_token_is_lost_with_its_holder(tmp_path: Path) -> None:
    async def script(running: Behind) -> None:
        want(running, 2)
        await running.until(lambda: is_inside(running, 2))
        await running.crash(2)
        want(running, 1, 3)

    found, unkept = play(mutex("token-ring", 3), script, tmp_path)
    assert statuses(found)["deadlock_freedom"] is Status.BROKEN
    assert statuses(found)["exclusion"] is Status.HOLDS_IN_RUNS
    assert unkept == {Assumption.NO_CRASHES}


def test_two_leaders_in_a_partition(tmp_path: Path) -> None:
    async def script(running: Behind) -> None:
        for one in (1, 2):
            for other in (3, 4):
                running.link(LinkFault(0, "cut", one, other))
        running.members[1].do("elect")
        running.members[3].do("elect")
        await running.until(lambda: running.leaders == {1: 2, 2: 2, 3: 4, 4: 4})
        running.end()

    scenario = Scenario(algorithm="bully", n=4, elect=(Elect(process=1, at_ms=NEVER),))
    found, _ = play(scenario, script, tmp_path)
    assert statuses(found)["uniqueness"] is Status.BROKEN
    assert statuses(found)["validity"] is not Status.HOLDS_IN_RUNS


def test_two_candidates_on_an_anonymous_ring(tmp_path: Path) -> None:
    async def script(running: Behind) -> None:
        running.hold(1, 2)
        running.hold(2, 1)
        for process in (1, 2):
            running.members[process].do("elect")
        await running.until(lambda: all(running.members[one].status.get("sent") == 1 for one in (1, 2)))
        running.pass_on(1, 2)
        running.pass_on(2, 1)
        await running.until(lambda: running.leaders == {1: 1, 2: 2})
        running.end()

    scenario = Scenario(algorithm="ring-anonymous", n=2, elect=(Elect(process=1, at_ms=NEVER),))
    found, unkept = play(scenario, script, tmp_path)
    assert statuses(found)["uniqueness"] is Status.BROKEN
    assert unkept == set()
