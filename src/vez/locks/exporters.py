"""Exporters: the metrics of a client, for Prometheus and OpenTelemetry: `vez.metrics`.

`client.measure()` starts the measurement. The numbers are summed up when they are read, and nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from vez.errors import Misuse
from vez.locks.fence import refusals
from vez.locks.turns.metrics import Distribution, Metrics, Reading

__all__ = ["Distribution", "Metrics", "Reading", "opentelemetry", "prometheus"]


def prometheus(metrics: Metrics) -> str:
    """All readings in the text format of Prometheus, for whatever serves `/metrics`."""
    readings, lines = metrics.read(), list[str]()
    for what, title in (("wait", "waited for a turn"), ("hold", "held a turn")):
        lines += [f"# HELP vez_{what}_seconds Seconds {title}.", f"# TYPE vez_{what}_seconds histogram"]
        for reading in readings:
            label, one = _labels(reading), getattr(reading, what)
            lines += [f'vez_{what}_seconds_bucket{{{label},le="{bound:g}"}} {below}' for bound, below in one.buckets]
            lines.append(f'vez_{what}_seconds_bucket{{{label},le="+Inf"}} {one.count}')
            lines += [
                f"vez_{what}_seconds_sum{{{label}}} {one.sum!r}",
                f"vez_{what}_seconds_count{{{label}}} {one.count}",
            ]
    for what, title in (("timeouts", "Waits that a timeout ended."), ("lost", "Turns that were lost.")):
        lines += [f"# HELP vez_{what}_total {title}", f"# TYPE vez_{what}_total counter"]
        lines += [f"vez_{what}_total{{{_labels(reading)}}} {getattr(reading, what)}" for reading in readings]
    lines += ["# HELP vez_queue_length Requests that wait now.", "# TYPE vez_queue_length gauge"]
    lines += [f"vez_queue_length{{{_labels(one)}}} {one.queue}" for one in readings if one.queue is not None]
    lines += ["# HELP vez_stale_refused_total Writers with a stale token that a guard of this process refused."]
    lines += ["# TYPE vez_stale_refused_total counter", f"vez_stale_refused_total {refusals()}"]
    return "\n".join(lines) + "\n"


def _labels(reading: Reading) -> str:
    name = reading.name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'kind="{reading.kind}",name="{name}"'


def opentelemetry(metrics: Metrics, meter: object) -> None:
    """Let an OpenTelemetry meter read the metrics whenever it collects. It has no observable histogram, so the counts
    and sums of waits and stays are counters."""
    if not hasattr(meter, "create_observable_counter"):
        raise Misuse(
            f"an OpenTelemetry meter is needed, found {type(meter).__name__}",
            hint='opentelemetry.metrics.get_meter("my-program")',
        )
    from opentelemetry.metrics import Meter as TheirMeter
    from opentelemetry.metrics import Observation

    theirs = cast(TheirMeter, meter)

    def instrument(make: Callable[..., object], name: str, unit: str, value: Callable[[Reading], float | None]) -> None:
        def read(_: object) -> list[Observation]:
            values = [(value(one), {"name": one.name, "kind": one.kind}) for one in metrics.read()]
            return [Observation(found, labels) for found, labels in values if found is not None]

        make(name, callbacks=[read], unit=unit)

    count = theirs.create_observable_counter
    instrument(count, "vez.waits", "1", lambda one: one.wait.count)
    instrument(count, "vez.wait.seconds", "s", lambda one: one.wait.sum)
    instrument(count, "vez.holds", "1", lambda one: one.hold.count)
    instrument(count, "vez.hold.seconds", "s", lambda one: one.hold.sum)
    instrument(count, "vez.timeouts", "1", lambda one: one.timeouts)
    instrument(count, "vez.lost", "1", lambda one: one.lost)
    instrument(theirs.create_observable_gauge, "vez.queue.length", "1", lambda one: one.queue)
    count("vez.stale.refused", callbacks=[lambda _: [Observation(refusals())]], unit="1")
