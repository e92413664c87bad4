"""Time in the checker: runs that depend on exact times are found, and a run in which time stops does not count."""

from __future__ import annotations

import pytest

from tests.worlds.crosscheck.timed import May, Offset, Yes
from vez.catalogue.algorithms import find
from vez.core import Assumption, Election, Io, Message, Mutex, Parameter, Process, Property
from vez.errors import Misuse
from vez.judge.properties import Status, judge
from vez.judge.properties.assumptions import broken_assumptions
from vez.worlds.check import Configuration, Report, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Network, Want

TIMED = (Assumption.RELIABLE, Assumption.NO_CRASHES, Assumption.KNOWN_BOUNDS)


class Slow(Mutex):
    """Correct if messages take no time. A process announces its request, waits 4 ms, and enters if nobody else has
    announced one."""

    name = "slow"
    assumes = TIMED
    guarantees = (Property.EXCLUSION,)
    quick_ms: Parameter[float] = 0.0
    taken: bool = False

    def longest_delay_ms(self) -> float:
        return self.quick_ms

    def on_want(self, io: Io) -> None:
        if not self.taken:
            io.broadcast(May())
            io.set_timer("wait", 4)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        self.taken = True
        if sender < io.me:
            io.cancel_timer("wait")

    def on_timer_wait(self, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


class Between(Mutex):
    """The hub gets in; if it leaves between 5 and 9 ms later, it lets all others in."""

    name = "between"
    assumes = (*TIMED, Assumption.BOUNDED_STAY)
    guarantees = (Property.EXCLUSION,)
    stay_ms: Parameter[float] = 7.0
    waits: bool = False
    alarm: bool = False

    def longest_stay_ms(self) -> float:
        return self.stay_ms

    def on_want(self, io: Io) -> None:
        self.waits = True
        if io.me == io.hub:
            io.set_timer("begin", 5)
            io.set_timer("end", 9)
            io.enter()

    def on_timer_begin(self, io: Io) -> None:
        self.alarm = True

    def on_timer_end(self, io: Io) -> None:
        self.alarm = False

    def on_done(self, io: Io) -> None:
        self.waits = False
        if self.alarm:
            io.broadcast(Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        if self.waits:
            io.enter()


class Restless(Mutex):
    """Lets a process in after 5 ms. Meanwhile a timer, or a timer and a message in turn, never stops."""

    name = "restless"
    assumes = TIMED
    guarantees = (Property.STARVATION_FREEDOM,)
    every_ms: Parameter[float] = 0.0
    writes: Parameter[bool] = False
    lets_in: Parameter[bool] = True
    may_stop: Parameter[bool] = False

    def on_want(self, io: Io) -> None:
        io.set_timer("again", self.every_ms)
        if self.lets_in:
            io.set_timer("go", 5)

    def on_timer_again(self, io: Io) -> None:
        if self.may_stop and io.choose((False, True)):
            return
        if self.writes:
            io.send(io.peers[0], May())
        else:
            io.set_timer("again", self.every_ms)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.set_timer("again", self.every_ms)

    def on_timer_go(self, io: Io) -> None:
        io.cancel_timer("again")
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


class Balls(Election):
    """Everybody throws a ball, and every ball goes to and fro for ever. There is no other clock."""

    name = "balls"
    assumes = TIMED
    guarantees = (Property.UNIQUENESS,)

    def longest_delay_ms(self) -> float:
        return 2.0

    def on_elect(self, io: Io) -> None:
        io.send(io.peers[0], May())

    def on_may(self, message: May, sender: int, io: Io) -> None:
        io.send(sender, May())


class Third(Message):
    """The message that nobody may get."""


class Greeting(Process):
    """Sends three messages in `on_start`; the first one starts a timer that is shorter than any bound before it."""

    name = "greeting"
    assumes = (Assumption.KNOWN_BOUNDS,)

    def longest_delay_ms(self) -> float:
        return 2.0

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            for message in (May(), Yes(), Third()):
                io.send(2, message)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        io.set_timer("short", 1)

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        pass

    def on_third(self, message: Third, sender: int, io: Io) -> None:
        raise AssertionError("the third message has arrived")

    def on_timer_short(self, io: Io) -> None:
        pass


class Latecomer(Process):
    """Greeted twice, the second time more than 1.5 ms after the first: the tick becomes finer twice."""

    name = "latecomer"
    assumes = (Assumption.KNOWN_BOUNDS,)
    late: bool = False

    def longest_delay_ms(self) -> float:
        return 2.0

    def on_start(self, io: Io) -> None:
        if io.me != 1:
            io.send(1, May())

    def on_may(self, message: May, sender: int, io: Io) -> None:
        assert not self.late, "greeted late"
        io.set_timer("one", 1)

    def on_timer_one(self, io: Io) -> None:
        io.set_timer("two", 0.5)

    def on_timer_two(self, io: Io) -> None:
        self.late = True


def checked(algorithm: type[Process], parameters: dict[str, float], n: int = 2, requests: int = 1) -> Report:
    scenario = Scenario(algorithm=algorithm.name, n=n, parameters=parameters)
    return check(Configuration(scenario, algorithm, requests=requests))


def status(report: Report, name: str) -> Status:
    return next(verdict.status for verdict in report.verdicts if verdict.name == name)


@pytest.mark.parametrize("requests", [1, 2])
def test_a_request_between_two_timers_is_seen(requests: int) -> None:
    report = checked(Offset, {}, requests=requests)
    assert "exclusion" in report.broken
    replay = simulate(report.counterexamples["exclusion"].scenario, Offset, record=True).trace
    assert replay is not None
    assert judge(replay, only=[Property.EXCLUSION])[0].status is Status.BROKEN
    assert not broken_assumptions(replay)


def test_the_simulator_breaks_the_same_protocol() -> None:
    wants = (Want(process=1, at_ms=0, inside_ms=4), Want(process=2, at_ms=7, inside_ms=4))
    scenario = Scenario(algorithm="offset", n=2, want=wants, network=Network(delay=0.1))
    trace = simulate(scenario, Offset, record=True).trace
    assert trace is not None
    assert judge(trace, only=[Property.EXCLUSION])[0].status is Status.BROKEN


@pytest.mark.parametrize(("quick_ms", "broken"), [(0, False), (1, False), (2, True), (5, True)])
def test_messages_take_up_to_the_longest_delay(quick_ms: float, broken: bool) -> None:
    report = checked(Slow, {"quick_ms": quick_ms})
    assert ("exclusion" in report.broken) is broken
    assert ("messages take no time" in report.configuration) is (quick_ms == 0)


@pytest.mark.parametrize(("stay_ms", "broken"), [(4, False), (7, True)])
def test_a_stay_may_end_between_two_timers(stay_ms: float, broken: bool) -> None:
    report = checked(Between, {"stay_ms": stay_ms}, n=3)
    assert ("exclusion" in report.broken) is broken
    assert f"stays up to {stay_ms} ms, ticks of 1 ms" in report.configuration


@pytest.mark.parametrize("options", [{}, {"writes": True}])
def test_a_protocol_that_stops_time_is_undecided(options: dict[str, float]) -> None:
    report = checked(Restless, options)
    assert {verdict.status for verdict in report.verdicts} == {Status.UNDECIDED}
    assert "--timeouts" in report.verdicts[0].evidence


def test_a_protocol_that_may_stop_time_is_undecided() -> None:
    assert status(checked(Restless, {"may_stop": True}), "starvation_freedom") is Status.UNDECIDED


@pytest.mark.parametrize("options", [{"every_ms": 1}, {"every_ms": 1, "writes": True}])
def test_a_loop_in_which_time_does_not_pass_starves_nobody(options: dict[str, float]) -> None:
    assert status(checked(Restless, options), "starvation_freedom") is Status.HOLDS


@pytest.mark.parametrize("writes", [False, True])
def test_a_loop_in_which_time_passes_starves(writes: bool) -> None:
    report = checked(Restless, {"every_ms": 1, "lets_in": False, "writes": writes})
    assert status(report, "starvation_freedom") is Status.BROKEN
    assert any(step.kind == "advance" for step in report.counterexamples["starvation_freedom"].path.steps)


def test_the_older_of_two_equal_messages_does_not_stop_time() -> None:
    """It must arrive, even if the younger one goes to and fro without end before; so no fair run stays there."""
    report = checked(Balls, {})
    assert {verdict.name: verdict.status for verdict in report.verdicts} == {
        "uniqueness": Status.HOLDS,
        "termination": Status.BROKEN,
        "agreement": Status.BROKEN,
        "validity": Status.HOLDS,
    }


def test_the_fairness_that_a_verdict_rests_on_is_said() -> None:
    report = checked(Restless, {"every_ms": 1})
    fairness = list(map(str, report.fairness))
    assert "time passes" in fairness
    assert "due timers fire unless they are set anew" in fairness
    assert "starters start" not in fairness
    safety = Configuration(Scenario(algorithm="restless", n=2), Restless)
    assert not check(safety, ("exclusion",)).fairness


def test_a_delay_that_is_no_time_is_refused() -> None:
    algorithm = find("coordinator-lease")
    for wrong in (float("nan"), float("inf"), -1.0, 1e300):
        with pytest.raises(Misuse, match="longest delay"):
            Configuration(Scenario(algorithm="coordinator-lease", n=2), algorithm, longest_delay_ms=wrong)


def test_an_election_that_nobody_starts_is_refused() -> None:
    with pytest.raises(Misuse, match="nobody would start"):
        Configuration(Scenario(algorithm="bully", n=2), find("bully"), requests=0)


@pytest.mark.parametrize(("algorithm", "n", "tick"), [(Greeting, 2, "1 ms"), (Latecomer, 3, "0.5 ms")])
def test_messages_of_on_start_keep_their_delay_when_the_tick_becomes_finer(
    algorithm: type[Process], n: int, tick: str
) -> None:
    report = checked(algorithm, {}, n=n)
    assert f"ticks of {tick}" in report.configuration
    assert "no_exceptions" in report.broken
