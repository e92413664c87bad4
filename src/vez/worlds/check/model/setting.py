"""Setting: the explored configuration in one sentence. Verdicts hold for this configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vez.core.assumptions import Assumption
from vez.core.process import Mutex, handlers_of
from vez.judge.words import Sentence, plain, said

if TYPE_CHECKING:
    from vez.worlds.check.model.clock import Clock
    from vez.worlds.check.model.configuration import Budget, Configuration
KEYS = {"crashes_inside": "crashes_inside_handlers"}
"""Count of faults → the key of its sentence, if the key differs."""


def setting(configuration: Configuration, partitions: str) -> Sentence:
    """The configuration in one line. `partitions` names the possible partitions, if the scenario does."""
    parts = [plain(f"n={len(configuration.ids)}")]
    if configuration.algorithm.role != "other":  # otherwise there are no requests
        parts += _asked(configuration)
    parts.append(said("fifo_channels" if configuration.fifo else "any_order"))
    if configuration.timed:
        parts += _clock(configuration.clock)
    elif handlers_of(configuration.algorithm).timers:
        parts.append(said("timers_at_any_moment"))
    if Assumption.BOUNDED_STAY in configuration.dropped:
        parts.append(said("stays_of_any_length"))
    parts += faults(configuration.budget)
    if configuration.amnesia:
        parts.append(said("memory_may_be_lost"))
    if configuration.victims != configuration.ids:
        parts.append(said("only_may_crash", processes=configuration.victims))
    if configuration.scenario.partition:
        parts.append(said("only_may_be_cut", partitions=partitions))
    if configuration.capacity:
        parts.append(said("at_most_under_way", count=configuration.capacity))
    own = configuration.setup.process(configuration.ids[0])
    parts += [plain(f"{name}={getattr(own, name)}") for name in configuration.algorithm.fault_parameters]
    parts += [said("field_up_to", field=field, most=most) for field, most in sorted(configuration.bounds.items())]
    return said("setting", parts=tuple(parts))


def faults(budget: Budget) -> list[Sentence]:
    """The faults that may happen: `1 crash`, `2 losses`, or `no faults`."""
    names = [name for name in budget.__struct_fields__ if getattr(budget, name)]
    return [said(KEYS.get(name, name), count=getattr(budget, name)) for name in names] or [said("no_faults")]


def _asked(configuration: Configuration) -> list[Sentence]:
    """The sentences about the number of requests and the processes that make them."""
    role = "requests" if issubclass(configuration.algorithm, Mutex) else "elections"
    most = max(configuration.requests.values(), key=abs, default=0)
    who = [(process, count) for process, count in configuration.requests.items() if count]
    if configuration.chosen and (role == "requests" or most != 1):
        return [said(f"{role}_of", count=count, process=process) for process, count in who]
    each = said(f"{role}_without_end") if most < 0 else said(f"{role}_each", count=most)
    if role == "requests":
        return [each]
    return [said("starters", count=len(who)), *([each] if most != 1 else [])]


def _clock(clock: Clock) -> list[Sentence]:
    """The bounds of time."""
    parts = [said("messages_take", us=clock.delay_us) if clock.delay_us else said("messages_take_no_time")]
    if clock.stay_us is not None:
        parts.append(said("stays_up_to", us=clock.stay_us))
    if clock.drift:
        parts.append(said("timers_off_by", percent=float(100 * clock.drift)))
    if clock.tick_us:
        parts.append(said("ticks_of", us=clock.tick_us))
    return parts
