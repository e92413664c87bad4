"""The experiments with servers, small: counts and orders of waiting, which noise cannot turn; no times."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from vez.draw.lanes import Lanes
from vez.draw.lanes.svg import svg
from vez.draw.lanes.text import text
from vez.errors import Misuse, UnknownName
from vez.servers.experiments import EXPERIMENTS, Findings, Options, run_experiment
from vez.servers.experiments.load import WORKS
from vez.servers.experiments.timeline import lanes_of, most_at_once, wait_ms
from vez.servers.serving.models import Settings
from vez.servers.serving.recording import Phase
from vez.servers.serving.service import Request
from vez.servers.serving.trial.clients import Fate
from vez.servers.serving.trial.plan import Asked, CounterPlan, HostPlan, PagesPlan, WorkPlan
from vez.servers.serving.trial.trial import Trial, hosted, latency, run_trial


def find(name: str, **options: object) -> Findings:
    said: list[str] = []
    found = run_experiment(name, Options(**options), said.append)  # type: ignore[arg-type]
    assert said, "every experiment says what it does"
    assert all(len(row) == len(found.columns) for row in found.rows)
    return found


@pytest.mark.parametrize(
    ("work", "kept"), [("short", True), ("slow-client", True), ("mixed", False), ("slow-disk", False)]
)
def test_a_work_says_whether_its_pages_are_kept_in_memory(work: str, kept: bool) -> None:
    """`loop` answers pages in memory at once, and gives those on disk to its pool."""
    words, plan, asked = WORKS[work]
    service = plan.service()
    try:
        question = service.decode(Request("GET", asked.targets[0]))
        service.decide(question)
        assert (service.at_once(question) is not None) is kept
    finally:
        service.close()
    assert ("in memory" in words) is kept
    assert ("read" in words) is not kept


def test_load_runs_every_model_and_answers_all() -> None:
    models = ("single", "pool", "staged")
    found = find("load", models=models, clients=(1, 6), works=("mixed",), seconds=0.1)
    assert [row["model"] for row in found.data[::2]] == list(models)
    assert all(row["answered"] > 0 and row["lost"] == row["refused"] == 0 for row in found.data)
    threads = {row["model"]: row["threads"] for row in found.data}
    assert threads["single"] == 1
    assert threads["pool"] == 17, "sixteen workers and the acceptor"
    assert threads["staged"] == 25
    assert len(found.pictures) == 1 + len(models), "a picture of charts, and a timeline for each model"


def test_two_clients_of_a_single_thread_are_served_one_after_the_other() -> None:
    found = find("two-clients")
    single, _ = found.data
    assert single["overlap"] is False
    picture = found.pictures[0]
    assert isinstance(picture, Lanes)
    assert picture.lanes == ("client 1", "server", "client 2")
    assert len(picture.arrows) == 4
    served = [span for span in single["spans"] if span.phase is not Phase.WAIT]
    order = [span.request for span in sorted(served, key=lambda span: span.begin)]
    assert order == [1, 1, 1, 2, 2, 2], "request 2 is read only after answer 1 was sent"


def recorded(model: str, settings: Settings, clients: int = 6) -> Trial:
    host = HostPlan(model=model, service=PagesPlan(disk_ms=15), settings=settings, record=True)
    trial = run_trial(host, Asked(clients=clients, requests=2, seconds=10))
    assert len(trial.answered) == clients * 2
    return trial


def test_no_more_are_decided_at_once_than_the_model_has_threads() -> None:
    def most(model: str, settings: Settings) -> int:
        return most_at_once(span for span in recorded(model, settings).spans if span.phase is Phase.DECIDE)

    assert most("single", Settings()) == 1
    assert most("pool", Settings(workers=3)) <= 3
    assert most("staged", Settings(stages=(1, 2, 1))) <= 2
    assert most("loop", Settings(workers=2)) <= 2
    assert most("thread-per-request", Settings(most_threads=2)) <= 2


def test_requests_wait_in_front_of_the_stage_that_blocks() -> None:
    trial = recorded("staged", Settings(stages=(1, 1, 1)), clients=8)
    waited = wait_ms(trial.spans)
    assert waited["queue decide"] > waited["queue send"]
    assert trial.report.queues["decide"] > trial.report.queues["send"]
    decided = sorted((span for span in trial.spans if span.phase is Phase.DECIDE), key=lambda span: span.begin)
    received = sorted((span for span in trial.spans if span.phase is Phase.RECEIVE), key=lambda span: span.begin)
    assert [span.request for span in decided] == [span.request for span in received], "first come, first served"


def test_a_full_queue_blocks_or_refuses() -> None:
    found = find("full-queue", clients=(12,), seconds=0.15)
    block, refuse = found.data
    assert (block["refused"], refuse["blocked_ms"]) == (0, 0)
    assert block["blocked_ms"] > 0
    assert refuse["refused"] > 0
    assert block["longest_queue"] == refuse["longest_queue"] == 4


def test_a_thread_per_request_starts_as_many_threads_as_requests() -> None:
    found = find("thread-cost", clients=(2,), seconds=0.1)
    single_use, pool = found.data["trials"]
    assert single_use["threads_started"] >= single_use["answered"]
    assert pool["threads_started"] == 8
    assert found.data["create_us"] > 0 < found.data["reuse_us"]


def test_what_a_process_costs_is_measured_beside_a_thread() -> None:
    found = find("thread-cost", clients=(1,), seconds=0.05)
    assert found.data["process_us"] > 0
    assert "A process that ends at once takes" in found.words[0]


def test_a_pool_never_has_more_in_work_than_workers() -> None:
    host = HostPlan(model="pool", service=WorkPlan(), settings=Settings(workers=2), record=True)
    trial = run_trial(host, Asked(clients=6, requests=2, targets=("/10/1",), seconds=10))
    assert len(trial.answered) == 12
    assert most_at_once(span for span in trial.spans if span.phase is Phase.DECIDE) <= 2


def test_a_slow_client_holds_up_only_the_single_thread() -> None:
    found = find("slow-client", models=("single", "pool", "loop"), clients=(2,), seconds=0.3)
    answered = {row["model"]: row["answered"] for row in found.data}
    assert answered["single"] <= 2, "all wait until the slow request is whole; then nobody asks again"
    assert answered["pool"] > 2 < answered["loop"]


def test_updates_are_lost_without_a_lock_where_threads_share() -> None:
    def lost(model: str, *, locked: bool) -> int:
        host = HostPlan(model=model, service=CounterPlan(locked=locked, pause_ms=3), settings=Settings(workers=6))
        asked = Asked(clients=6, requests=5, targets=("/counter",), method="POST", seconds=20)
        trial = run_trial(host, asked)
        assert trial.report.number is not None
        assert len(trial.answered) == 30
        return 30 - trial.report.number

    assert lost("single", locked=False) == 0
    assert lost("pool", locked=True) == 0
    assert lost("pool", locked=False) > 0


def test_a_server_that_stops_answering_is_told_from_a_slow_one() -> None:
    """Requests that were refused, lost or still open are not counted as answers."""
    host = HostPlan(
        model="pool", service=PagesPlan(disk_ms=5), settings=Settings(workers=1, queue=1, refuse_when_full=True)
    )
    trial = run_trial(host, Asked(clients=8, requests=3, seconds=5))
    fates = {fate: trial.count(fate) for fate in Fate}
    assert sum(fates.values()) == len(trial.samples) == 24
    assert fates[Fate.ANSWERED] == trial.report.counts["answered"]
    assert fates[Fate.REFUSED] == trial.report.counts["refused"] > 0


def test_percentiles_are_values_that_occurred() -> None:
    found = latency([number / 1000 for number in range(1, 201)])
    assert found is not None
    assert (round(found.p50), round(found.p99), round(found.longest)) == (100, 198, 200)
    assert latency([]) is None


def test_lanes_are_drawn_as_text_and_svg() -> None:
    picture = lanes_of("staged", recorded("staged", Settings(stages=(1, 2, 1))).spans)
    assert picture.lanes[0] == "queue receive"
    assert [lane for lane in picture.lanes if lane.startswith("decide")] == ["decide 1", "decide 2"]
    drawn = text(picture, 60)
    assert all(len(line) <= 60 for line in drawn.splitlines())
    assert drawn.count("\n") >= len(picture.lanes) + 3
    assert svg(picture).count("<rect") > len(picture.stays)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown experiment"):
        run_experiment("nothing", Options(), lambda _: None)
    with pytest.raises(UnknownName, match="unknown model"):
        run_experiment("load", Options(models=("pol",)), lambda _: None)
    with pytest.raises(UnknownName, match="unknown work"):
        run_experiment("load", Options(works=("hard",)), lambda _: None)
    with pytest.raises(Misuse, match="expected 1 to 256"):
        run_experiment("load", Options(clients=(257,)), lambda _: None)
    with pytest.raises(Misuse, match=r"expected .* to 60"):
        run_experiment("load", Options(seconds=61), lambda _: None)
    assert all(run.__doc__ and run.__doc__.endswith("?") for run, _ in EXPERIMENTS.values())


def test_a_trial_that_is_interrupted_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with contextlib.suppress(KeyboardInterrupt), hosted(HostPlan(model="pool", service=PagesPlan())):
        assert len(list(tmp_path.iterdir())) == 1, "the folder of its pages"
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
