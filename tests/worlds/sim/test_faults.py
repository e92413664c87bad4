"""Each kind of fault has the effect that its name says, and no other."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import find
from vez.core import Durable, Io, Message, Mutex, Process
from vez.core.trace import (
    Crashed,
    Cut,
    Delivered,
    Entered,
    Event,
    Fired,
    Healed,
    Left,
    Lost,
    Noted,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Suspected,
    Trace,
    Trusted,
)  # fmt: skip
from vez.errors import Misuse
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Drift, Fate, Network, Partition, Pause, Suspicion, Want


class Ping(Message):
    number: int


class Pinger(Process):
    """Process 1 pings process 2 once a millisecond, ten times; everybody counts."""

    sent: int = 0
    received: tuple[int, ...] = ()
    starts: Durable[int] = 0

    def on_start(self, io: Io) -> None:
        self.starts += 1
        if io.me == 1:
            io.set_timer("tick", 1)

    def on_timer_tick(self, io: Io) -> None:
        self.sent += 1
        io.send(2, Ping(self.sent))
        if self.sent < 10:
            io.set_timer("tick", 1)

    def on_ping(self, message: Ping, sender: int, io: Io) -> None:
        self.received += (message.number,)
        io.note(f"{self.starts}:{','.join(map(str, self.received))}")


def run(**parts: Any) -> Trace:
    return trace_of(simulate(Scenario(algorithm="pinger", n=2, **parts), Pinger))


E = TypeVar("E", bound=Event)


def of(trace: Trace, *kind: type[E]) -> list[E]:
    return [event for event in trace if isinstance(event, kind)]


def last_note(trace: Trace) -> str:
    return [event.text for event in trace if isinstance(event, Noted)][-1]


def test_without_faults_everything_arrives_in_order_after_one_millisecond() -> None:
    trace = run()
    assert last_note(trace) == "1:1,2,3,4,5,6,7,8,9,10"
    sent = trace.messages()
    assert all(event.at - sent[event.message].at == 1000 for event in of(trace, Delivered))
    assert trace.header.end == "quiet"


def test_loss() -> None:
    trace = run(network=Network(loss=0.5), seed=3)
    lost, delivered = of(trace, Lost), of(trace, Delivered)
    assert lost
    assert delivered
    assert len(lost) + len(delivered) == 10
    assert {event.reason for event in lost} == {"loss"}
    assert len(of(run(network=Network(loss=1.0)), Delivered)) == 0


def test_duplication() -> None:
    trace = run(network=Network(duplicate=1.0))
    assert len(of(trace, Delivered)) == 20
    assert len(of(trace, Sent)) == 10


def test_reordering_and_fifo() -> None:
    network = Network(delay="uniform(0.1, 8)", fifo=False)
    numbers = [event.number for event in of(run(network=network), Delivered)]
    assert sorted(numbers) == list(range(1, 11))
    assert numbers != sorted(numbers)
    kept = [event.number for event in of(run(network=Network(delay="uniform(0.1, 8)", fifo=True)), Delivered)]
    assert kept == sorted(kept)
    held_up = [event.number for event in of(run(network=Network(reorder=0.5, fifo=False), seed=2), Delivered)]
    assert held_up != sorted(held_up)


def test_a_partition_cuts_both_ways_between_groups_and_heals() -> None:
    trace = run(partition=(Partition(at_ms=3.5, until_ms=6.6, groups=((1,), (2,))),))
    assert [(event.process, event.to) for event in of(trace, Cut)] == [(1, 2), (2, 1)]
    assert [(event.process, event.to) for event in of(trace, Healed)] == [(1, 2), (2, 1)]
    # sent at 3 and caught on the way, sent at 4, 5, 6
    assert [event.number for event in of(trace, Lost)] == [3, 4, 5, 6]
    assert {event.reason for event in of(trace, Lost)} == {"partition"}


def test_a_one_way_cut_spares_the_other_way() -> None:
    assert not of(run(partition=(Partition(one_way=((2, 1),)),)), Lost)
    assert len(of(run(partition=(Partition(one_way=((1, 2),)),)), Lost)) == 10


def test_overlapping_partitions_heal_when_the_last_one_does() -> None:
    trace = run(
        partition=(
            Partition(at_ms=1.5, until_ms=5.5, one_way=((1, 2),)),
            Partition(at_ms=3.5, until_ms=8.5, one_way=((1, 2),)),
        )
    )
    assert [event.at for event in of(trace, Healed)] == [8500]
    assert last_note(trace) == "1:9,10"


def test_crash_stop() -> None:
    trace = run(crash=(Crash(process=2, at_ms=4.5),))
    assert [event.at for event in of(trace, Crashed)] == [4500]
    assert {event.reason for event in of(trace, Lost)} == {"crash"}
    assert last_note(trace) == "1:1,2,3"
    assert len(of(run(crash=(Crash(process=1, at_ms=4.5),)), Sent)) == 4  # its timer died with it


def test_recovery_keeps_durable_fields_only() -> None:
    trace = run(crash=(Crash(process=2, at_ms=4.5, recover_ms=6.5),))
    assert of(trace, Recovered) == [Recovered(6500, 2, True)]
    assert last_note(trace) == "2:6,7,8,9,10"


def test_recovery_without_memory_keeps_nothing() -> None:
    assert last_note(run(crash=(Crash(process=2, at_ms=4.5, recover_ms=6.5, memory=False),))) == "1:6,7,8,9,10"


def test_a_paused_process_is_late_and_loses_nothing() -> None:
    trace = run(pause=(Pause(process=2, at_ms=2.5, for_ms=5),))
    assert [event.at for event in of(trace, Paused, Resumed)] == [2500, 7500]
    late = [event.at for event in of(trace, Delivered)]
    assert late == [2000, 7500, 7500, 7500, 7500, 7500, 8000, 9000, 10000, 11000]
    assert last_note(trace) == "1:1,2,3,4,5,6,7,8,9,10"


def test_a_paused_process_misses_its_timers_too() -> None:
    fired = [event.at for event in of(run(pause=(Pause(process=1, at_ms=2.5, for_ms=5),)), Fired)]
    assert fired[:4] == [1000, 2000, 7500, 8500]


def test_a_crash_during_a_pause_ends_it() -> None:
    trace = run(pause=(Pause(process=2, at_ms=2.5, for_ms=5),), crash=(Crash(process=2, at_ms=4, recover_ms=5),))
    assert not of(trace, Resumed)
    assert last_note(trace) == "2:4,5,6,7,8,9,10"


def test_a_crash_during_a_pause_loses_the_messages_that_waited() -> None:
    trace = run(pause=(Pause(process=2, at_ms=2.5, for_ms=5),), crash=(Crash(process=2, at_ms=4.5, recover_ms=6),))
    assert [(event.at, event.number, event.reason) for event in of(trace, Lost)] == [
        (4500, 2, "crash"),
        (4500, 3, "crash"),
        (5000, 4, "crash"),
    ]


def test_a_crash_inside_the_first_handler_after_a_pause_loses_the_messages_behind_it() -> None:
    class Answering(Pinger):
        def on_ping(self, message: Ping, sender: int, io: Io) -> None:
            if io.me == 2:
                io.send(1, message)

    pause, crash = Pause(process=2, at_ms=2.5, for_ms=3), Crash(process=2, at_ms=3, after_actions=0)
    world = Scenario(algorithm="answering", n=2, pause=(pause,), crash=(crash,))
    trace = trace_of(simulate(world, Answering))
    assert [event.number for event in of(trace, Delivered) if event.process == 2] == [1, 2]
    assert [event.number for event in of(trace, Lost)] == [3, 4, 5, 6, 7, 8, 9, 10]


def test_a_pause_that_a_crash_ended_does_not_lengthen_a_later_one() -> None:
    trace = run(
        pause=(Pause(process=2, at_ms=1.5, for_ms=7), Pause(process=2, at_ms=4.5, for_ms=1)),
        crash=(Crash(process=2, at_ms=2.5, recover_ms=3.5),),
    )
    assert [event.at for event in of(trace, Paused, Resumed)] == [1500, 4500, 5500]


def test_clock_drift_stretches_timers_only() -> None:
    trace = run(drift=(Drift(process=1, rate=2.0),))
    assert [event.at for event in of(trace, Fired)] == [2000 * tick for tick in range(1, 11)]
    assert [event.at for event in of(trace, Delivered)] == [2000 * tick + 1000 for tick in range(1, 11)]


def test_the_fate_of_a_single_message() -> None:
    trace = run(message=(
        Fate(sender=1, to=2, number=2, lost=True),
        Fate(sender=1, to=2, number=4, delay_ms=5),
        Fate(sender=1, to=2, number=6, copies=(2.5,)),
    ))  # fmt: skip
    assert last_note(trace) == "1:1,3,5,6,7,6,4,8,9,10"


def test_the_perfect_detector_tells_of_crashes_and_returns() -> None:
    scenario = Scenario(
        algorithm="bully", n=3, crash=(Crash(process=3, at_ms=10, recover_ms=20),), detector=Detector(delay_ms=1.5)
    )
    trace = simulate(scenario, find("bully")).trace
    assert trace is not None
    assert [(event.at, event.process) for event in of(trace, Suspected)] == [(11500, 1), (11500, 2)]
    assert [(event.at, event.process) for event in of(trace, Trusted)] == [(21500, 1), (21500, 2)]
    silent = simulate(scenario.but(detector=Detector(kind="none")), find("bully")).trace
    assert silent is not None
    assert not of(silent, Suspected)


def test_a_wrong_suspicion_and_its_end() -> None:
    scenario = Scenario(algorithm="chang-roberts", n=3, suspect=(Suspicion(process=1, peer=3, at_ms=20, until_ms=25),))
    trace = simulate(scenario, find("chang-roberts")).trace
    assert trace is not None
    assert of(trace, Suspected, Trusted) == [Suspected(20000, 1, 3), Trusted(25000, 1, 3)]


def test_a_pause_inside_lengthens_the_stay() -> None:
    scenario = Scenario(
        algorithm="coordinator",
        n=2,
        want=(Want(process=2, inside_ms=3),),
        pause=(Pause(process=2, at_ms=3, for_ms=10),),
    )
    trace = simulate(scenario, find("coordinator")).trace
    assert trace is not None
    assert [event.at for event in of(trace, Entered, Left)] == [2000, 13000]


def test_a_dead_process_wants_nothing_and_goes_on_when_it_is_back() -> None:
    want = tuple(Want(process=2, at_ms=at, inside_ms=1) for at in (0, 5, 20))
    scenario = Scenario(algorithm="coordinator", n=2, want=want, crash=(Crash(process=2, at_ms=4.5, recover_ms=10),))
    trace = simulate(scenario, find("coordinator")).trace
    assert trace is not None
    assert [event.at for event in of(trace, Entered)] == [2000, 12000, 22000]


@pytest.mark.parametrize("process", [1, 2])
def test_dead_from_the_start(process: int) -> None:
    trace = run(crash=(Crash(process=process, at_ms=0),))
    assert not of(trace, Delivered)


def test_overlapping_pauses_end_with_the_last() -> None:
    trace = run(pause=(Pause(process=2, at_ms=2.5, for_ms=3), Pause(process=2, at_ms=3.5, for_ms=5)))
    assert [event.at for event in of(trace, Paused, Resumed)] == [2500, 8500]


def test_overlapping_crashes_end_with_the_last() -> None:
    trace = run(crash=(Crash(process=2, at_ms=2.5, recover_ms=5), Crash(process=2, at_ms=3.5, recover_ms=8.5)))
    assert [event.at for event in of(trace, Crashed, Recovered)] == [2500, 8500]
    for_good = run(crash=(Crash(process=2, at_ms=2.5, recover_ms=5), Crash(process=2, at_ms=3.5)))
    assert not of(for_good, Recovered)


class Monologue(Message):
    """To oneself."""


class Talker(Mutex):
    """Gets in when it has heard itself."""

    name = "talker"

    def on_want(self, io: Io) -> None:
        io.send(io.me, Monologue())

    def on_monologue(self, message: Monologue, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


def test_what_a_process_sends_to_itself_crosses_no_network() -> None:
    network = Network(loss=1.0, duplicate=1.0, reorder=1.0)
    run = simulate(Scenario(algorithm="talker", n=2, network=network, want=(Want(process=1),)), Talker)
    assert run.trace is not None
    assert [type(event).__name__ for event in run.trace if isinstance(event, Delivered | Entered | Lost)] == [
        "Delivered",
        "Entered",
    ]


@pytest.mark.parametrize("fault", [{"lost": True}, {"copies": (2.0,)}], ids=str)
def test_a_message_to_oneself_can_be_neither_lost_nor_copied(fault: dict[str, Any]) -> None:
    fate = Fate(sender=1, to=1, number=1, **fault)
    with pytest.raises(Misuse, match="over no network that could lose or copy it"):
        simulate(Scenario(algorithm="talker", n=2, message=(fate,)), Talker)
