"""Tests of the campaign's judge: it accepts runs of the simulator, and detects manipulated ones."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.conftest import campaign_seed
from tests.runs import trace_of
from tests.worlds.campaign.cases import FAULTS, Case, LinkFault
from tests.worlds.campaign.judgement import judge_run
from tests.worlds.campaign.outcome import is_hopeful
from tests.worlds.campaign.real import Behind, run_real
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.catalogue.zoo import ZOO
from vez.core.trace import AnyEvent, Crashed, Entered, Left, Recovered, Sent, Trace
from vez.judge.properties import Status
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Elect, Network, Partition, Scenario, Workload


def simulated(case: Case) -> Trace:
    """The same case in the simulator, with the network faults as partitions."""
    scenario = case.scenario()
    links = case.plan(scenario.ids).links
    heals = {(link.process, link.peer): link.at_ms for link in links if link.kind == "heal"}
    cuts = tuple(_partition(link, heals) for link in links if link.kind in ("cut", "hold"))
    network = Network(delay="uniform(0.2, 0.8)")
    return trace_of(simulate(scenario.but(partition=cuts, network=network, until_ms=400), ALGORITHMS[case.algorithm]))


def _partition(link: LinkFault, heals: dict[tuple[int, int], float]) -> Partition:
    there, back = (link.process, link.peer), (link.peer, link.process)
    ways = (there,) if link.one_way else (there, back)
    return Partition(at_ms=link.at_ms, until_ms=heals.get(there), one_way=ways)


@pytest.mark.long
@pytest.mark.parametrize("fault", list(FAULTS))
def test_runs_of_the_simulator_agree_with_the_matrix(fault: str) -> None:
    """One seed that changes, for every algorithm: the judge must find rows for many, and contradictions for none."""
    covered = 0
    for name, algorithm in ALGORITHMS.items():
        case = Case(name, fault, campaign_seed())
        found = judge_run(simulated(case), name, algorithm, case.scenario().parameters)
        assert not found.contradictions, f"{case}: {found.contradictions}"
        covered += bool(found.rows)
    assert covered > len(ALGORITHMS) / 4


def test_a_run_is_compared_with_the_rows_of_what_happened_and_no_other() -> None:
    right = find("ricart-agrawala")
    calm = judge_run(simulated(Case("ricart-agrawala", "none", 1)), "ricart-agrawala", right, {})
    assert "vez check ricart-agrawala" in calm.rows
    assert calm.rows["vez check ricart-agrawala"] == ("exclusion", "deadlock_freedom", "starvation_freedom")
    assert calm.rows["vez check ricart-agrawala --property request_order"] == ("request_order",)
    killed = judge_run(simulated(Case("ricart-agrawala", "kill", 3)), "ricart-agrawala", right, {})
    assert killed.happened.crashes == 1
    assert "vez check ricart-agrawala" not in killed.rows
    assert killed.rows["vez check ricart-agrawala --crashes 1"] == ("exclusion",)
    back = judge_run(simulated(Case("majority", "kill-amnesia", 3)), "majority", find("majority"), {})
    assert (back.happened.recoveries, back.happened.forgot) == (1, True)
    assert not any("--amnesia" not in command for command in back.rows)


async def all_at_once(running: Behind) -> None:
    """All processes ask before any of them has heard of another request."""
    channels = [(one, other) for one in running.members for other in running.setup.topology.neighbours(one)]
    for one, other in channels:
        running.hold(one, other)
    for member in running.members.values():
        member.do("elect" if running.setup.algorithm.role == "election" else "want 100")
    await running.until(lambda: all(member.status.get("sent") for member in running.members.values()))
    for one, other in channels:
        running.pass_on(one, other)
    if running.setup.algorithm.role == "election":
        await running.until(lambda: len(running.leaders) == len(running.members))
        running.end()


@pytest.mark.parametrize("name", ["twins", "hasty", "straw-poll"])
def test_a_wrong_algorithm_as_real_nodes_is_caught(name: str, tmp_path: Path) -> None:
    """A specimen of the zoo pretends to be the right algorithm."""
    specimen = ZOO[name]
    honest = specimen.honest
    scenario = Scenario(
        algorithm=specimen.algorithm.name, n=3, elect=(Elect(process=1, at_ms=1e6),) * (honest.role == "election")
    )
    trace = run_real(scenario, specimen.algorithm, tmp_path, script=all_at_once, hopeful=False)
    named = Trace(msgspec.structs.replace(trace.header, algorithm=honest.name), trace.events)
    found = judge_run(named, honest.name, honest, {})
    assert any("cannot have done this" in one for one in found.contradictions), found


def test_a_broken_property_that_a_row_says_holds_is_a_contradiction_even_if_nothing_else_is_wrong() -> None:
    """An algorithm that is wrong on purpose, judged as if it were another algorithm with the same messages."""
    name = "ricart-agrawala-priority"
    for seed in range(40):
        trace = simulated(Case(name, "none", seed))
        found = judge_run(trace, name, find(name), {})
        assert not found.contradictions
        if found.verdicts["exclusion"].status is Status.BROKEN:
            break
    else:
        pytest.fail("no seed breaks it")
    lied = judge_run(trace, "ricart-agrawala", find(name), {})
    assert any(
        "exclusion is broken" in one and "holds by `vez check ricart-agrawala" in one for one in lied.contradictions
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A run of real nodes: 2 is inside while 3 is killed and comes back, then 3 is."""

    async def script(running: Behind) -> None:
        running.members[2].do("want")
        await running.until(lambda: running.inside.get(2) == "inside")
        await running.crash(3)
        await running.recover(3)
        running.members[3].do("want")
        await running.until(lambda: running.members[3].status.get("sent"))
        running.members[2].do("leave")
        await running.until(lambda: running.inside.get(3) == "inside")
        running.members[3].do("leave")
        await running.until(lambda: 3 not in running.inside)
        running.end()

    scenario = Scenario(algorithm="coordinator", n=3, workload=Workload(requests=0))
    return run_real(scenario, find("coordinator"), tmp_path_factory.mktemp("real"), script=script)


def test_a_tampered_trace_is_caught(real: Trace) -> None:
    right = find("coordinator")

    def wrong(events: list[AnyEvent]) -> tuple[str, ...]:
        return judge_run(Trace(real.header, tuple(events)), "coordinator", right, {}).contradictions

    events = list(real.events)
    assert not wrong(list(events))
    sent = next(place for place, event in enumerate(events) if isinstance(event, Sent))
    assert wrong([*events[:sent], *events[sent + 1 :]])
    crash = next(place for place, event in enumerate(events) if isinstance(event, Crashed))
    assert wrong([*events[:crash], *events[crash + 1 :]]), "a crash that is left out"
    back = next(place for place, event in enumerate(events) if isinstance(event, Recovered))
    assert wrong([*events[:back], *events[back + 1 :]]), "a recovery that is left out"
    left = next(place for place, event in enumerate(events) if isinstance(event, Left))
    entered = next(place for place, event in enumerate(events) if place > left and isinstance(event, Entered))
    later = msgspec.structs.replace(events[left], at=events[entered].at)
    assert wrong([*events[:left], *events[left + 1 : entered + 1], later, *events[entered + 1 :]]), "two inside"


def test_what_need_not_come_to_an_end_is_known_before() -> None:
    assert is_hopeful(Case("ricart-agrawala", "none", 0))
    assert is_hopeful(Case("ricart-agrawala", "cut", 0))
    assert not is_hopeful(Case("ricart-agrawala", "kill", 0))
    assert not is_hopeful(Case("ricart-agrawala", "cut-for-good", 0))
    assert not is_hopeful(Case("maekawa", "none", 0))
    assert is_hopeful(Case("bully", "kill", 0))
