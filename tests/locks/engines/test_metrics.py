"""The metrics of a client: counts are exact with many threads, and exporters read them unchanged."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import vez
from vez.errors import LockTimeout, Misuse, OwnershipLost, StaleToken
from vez.locks.fence import MemoryGuard
from vez.locks.turns import metrics as inner
from vez.testing import eventually


@pytest.fixture(params=["file", "memory"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[vez.Client]:
    url = f"file://{tmp_path}/turns" if request.param == "file" else f"memory:{tmp_path.name}"
    with vez.connect(url) as made:
        yield made


def test_a_client_measures_from_when_it_is_told(client: vez.Client) -> None:
    with client.lock("x"):
        pass
    metrics = client.measure()
    assert client.measure() is metrics
    assert metrics.read() == []
    for _ in range(3):
        with client.lock("x"):
            pass
    with client.lock("x"):
        with pytest.raises(vez.AlreadyHeld):
            client.lock("x").acquire()
        found: list[type] = []

        def ask() -> None:
            try:
                client.lock("x", timeout=0.01).acquire()
            except LockTimeout as error:
                found.append(type(error))

        asking = threading.Thread(target=ask)
        asking.start()
        asking.join(10)
    (reading,) = metrics.read()
    assert (reading.name, reading.kind) == ("x", "lock")
    assert (reading.wait.count, reading.hold.count, reading.timeouts, reading.lost) == (4, 4, 1, 0)
    assert reading.wait.sum > 0
    assert reading.wait.buckets[-1][1] == 4
    assert [below for _, below in reading.hold.buckets] == sorted(below for _, below in reading.hold.buckets)


def test_losses_and_queues_are_measured(client: vez.Client) -> None:
    metrics = client.measure()
    grant = client.lock("x").acquire()
    waiter = threading.Thread(target=lambda: client.lock("x").acquire().release())
    waiter.start()
    eventually(lambda: metrics.read()[0].queue == 1)
    client.break_lock("x", "to see")
    with pytest.raises(OwnershipLost):
        grant.release()
    waiter.join(10)
    (reading,) = metrics.read()
    assert (reading.lost, reading.queue, reading.wait.count) == (1, 0, 2)


def test_a_damaged_file_does_not_hide_the_other_names(tmp_path: Path) -> None:
    with vez.connect(f"file://{tmp_path}/turns") as client:
        metrics = client.measure()
        for name in ("good", "spoiled"):
            with client.lock(name):
                pass
        with open(tmp_path / "turns" / "lock.spoiled", "r+b") as file:
            file.write(b"damaged!")
        with pytest.raises(vez.CorruptState):
            client.inspect("spoiled")
        assert [(one.name, one.hold.count, one.queue) for one in metrics.read()] == [
            ("good", 1, 0), ("spoiled", 1, None),
        ]  # fmt: skip


def test_no_turn_is_counted_twice_or_forgotten(tmp_path: Path) -> None:
    """Threads add while another reads: nothing is lost between the two."""
    histogram = inner.Histogram()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            histogram.settle()

    reader = threading.Thread(target=read)
    reader.start()

    def add() -> None:
        for _ in range(20_000):
            histogram.add(0.001)

    adding = [threading.Thread(target=add) for _ in range(4)]
    for one in adding:
        one.start()
    for one in adding:
        one.join(60)
    done.set()
    reader.join(60)
    histogram.settle()
    assert histogram.count == 80_000
    assert histogram.sum == pytest.approx(80.0)


def test_too_many_names_are_counted_together(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inner, "MOST_NAMES", 3)
    metrics = client.measure()
    for number in range(10):
        with client.lock(f"invoice/{number}"):
            pass
    readings = {reading.name: reading for reading in metrics.read()}
    assert sorted(readings) == ["...", "invoice/0", "invoice/1", "invoice/2"]
    assert readings["..."].wait.count == 7
    assert readings["..."].queue is None


def test_prometheus_understands_it(client: vez.Client) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    metrics = client.measure()
    for name in ("x", "y/z@1"):
        with client.lock(name), client.semaphore(name, 2):
            pass
    guard = MemoryGuard()
    guard.admit("r", 5)
    with pytest.raises(StaleToken):
        guard.admit("r", 4)
    families = {
        family.name: family for family in parser.text_string_to_metric_families(vez.metrics.prometheus(metrics))
    }
    assert sorted(families) == [
        "vez_hold_seconds", "vez_lost", "vez_queue_length", "vez_stale_refused", "vez_timeouts", "vez_wait_seconds",
    ]  # fmt: skip
    waits = families["vez_wait_seconds"]
    assert waits.type == "histogram"
    counts = {
        (sample.labels["name"], sample.labels["kind"]): sample.value
        for sample in waits.samples
        if sample.name.endswith("_count")
    }
    assert counts == {(name, kind): 1.0 for name in ("x", "y/z@1") for kind in ("lock", "semaphore")}
    assert families["vez_stale_refused"].samples[0].value >= 1


def test_opentelemetry_reads_it(client: vez.Client) -> None:
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader])
    metrics = client.measure()
    vez.metrics.opentelemetry(metrics, provider.get_meter("test"))
    for _ in range(3):
        with client.lock("x"):
            pass
    data = reader.get_metrics_data()
    found = {
        metric.name: metric.data.data_points[0].value
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert found["vez.waits"] == found["vez.holds"] == 3
    assert found["vez.hold.seconds"] > 0
    assert found["vez.queue.length"] == 0
    provider.shutdown()


def test_what_is_not_a_meter_is_refused(client: vez.Client) -> None:
    with pytest.raises(Misuse, match="OpenTelemetry"):
        vez.metrics.opentelemetry(client.measure(), object())
