"""The experiments, small, with real server processes: counts and orders, never times."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator
from http.client import HTTPException
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from vez.cli.app import run as cli
from vez.cli.state import COMPARISON, MODELS, TOPICS
from vez.cli.state_tables import page, show
from vez.draw.chart.svg import svg
from vez.errors import EngineUnavailable
from vez.servers.paging.measure.experiments import EXPERIMENTS, REQUESTS, TABLE, Found, run
from vez.servers.paging.measure.failures import killed
from vez.servers.paging.measure.pages import cost_chart, parameter
from vez.servers.paging.measure.shop import Shop, products
from vez.servers.paging.measure.table import comparison
from vez.servers.paging.measure.vanished import vanished
from vez.servers.paging.process import ServerProcess
from vez.servers.paging.service import Setup
from vez.servers.paging.signing import new_key
from vez.servers.paging.store import Row
from vez.servers.serving import MODELS as SERVERS
from vez.testing import servers

ROWS, PAGE = 60, 10
CHEAP = 2**8
"""A cost of scrypt that a test can afford."""
STATELESS = ("recompute", "offset", "keyset")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    shop = Shop(str(folder / "shop.db"), folder, ROWS, "pool", cost=CHEAP)
    yield shop
    shop.store.close()


@pytest.fixture(scope="module")
def found(shop: Shop) -> Found:
    """Every experiment once, as `vez state all` runs them."""
    return run(shop, "sqlite", PAGE, EXPERIMENTS, lambda name: None)


def test_rows_visited_and_kept(found: Found) -> None:
    costs = {cost.way: cost for cost in found.costs}
    assert costs["recompute"].visited == [60] * 7
    assert costs["offset"].visited == [10, 20, 30, 40, 50, 60, 60]
    assert costs["keyset"].visited == [10] * 6 + [0]
    assert costs["view"].visited == costs["view, stable"].visited == [60] + [0] * 5
    assert {way: cost.kept_rows for way, cost in costs.items()} == {
        **dict.fromkeys(STATELESS, 0), "view": 60, "view, stable": 60
    }  # fmt: skip
    assert all(len(cost.milliseconds) == len(cost.visited) for cost in costs.values())


def test_what_changes_between_pages_do_to_each_way(found: Found) -> None:
    seen = {(one.way, one.change): one for one in found.changes}
    for way in ("recompute", "offset"):
        assert (seen[way, "insert behind"].repeated, seen[way, "insert behind"].times) == (6, 6)
        assert (seen[way, "remove behind"].missed, seen[way, "remove behind"].times) == (5, 5)
    for one in seen.values():
        if one.way in ("keyset", "view") or "ahead" in one.change:
            assert (one.repeated, one.missed) == (0, 0)
        assert one.times >= 5
        assert one.stale == (one.times if (one.way, one.change) == ("view", "remove ahead") else 0)
        assert one.new == (one.times if one.way != "view" and one.change == "insert ahead" else 0)


def test_the_same_request_again(found: Found) -> None:
    assert {one.way: one.answers for one in found.repeated} == {**dict.fromkeys(STATELESS, 1), "view": 3}


def test_a_server_that_is_killed(found: Found) -> None:
    after = {one.way: one for one in found.killed}
    for way in (*STATELESS, "view, stable"):
        assert (after[way].refused, after[way].log_ins, after[way].repeated, after[way].missed) == (0, 0, 0, 0)
    view = after["view"]  # neither the session nor the view is known any more
    assert (view.refused, view.log_ins, view.repeated, view.missed, view.visited) == (2, 1, 30, 0, 60)
    assert after["view, stable"].visited == 0
    assert after["keyset"].visited == 30


def test_a_client_that_is_sent_to_another_server(found: Found) -> None:
    after = {one.way: one for one in found.moved}
    assert {way for way, one in after.items() if one.refused or one.repeated} == {"view"}
    assert (after["view"].refused, after["view"].repeated) == (2, 30)
    assert {one.way: (one.requests, one.refused) for one in found.alternated} == {
        **dict.fromkeys(STATELESS, (7, 0)), "view": (6, 3), "view, stable": (6, 0)
    }  # fmt: skip


def test_a_reply_that_is_lost_takes_a_page_with_it_only_from_a_view_without_steps(found: Found) -> None:
    assert {one.way: one.missed for one in found.lost_replies} == {
        **dict.fromkeys(STATELESS, 0), "view": PAGE, "view, with steps": 0
    }  # fmt: skip


def test_clients_that_never_come_back(found: Found) -> None:
    refusing, evicting = found.vanished
    assert (refusing.kept_rows, refusing.refused, refusing.dropped) == (10 * ROWS, 1, 0)
    assert (evicting.kept_rows, evicting.refused, evicting.dropped) == (10 * ROWS, 0, 1)
    for one in (refusing, evicting):
        assert (one.kept_after_expiry, one.served_after_expiry) == (0, 1)


def test_a_machine_that_is_slower_than_the_expiry_of_views_changes_no_count(shop: Shop) -> None:
    """Views that end before the last client has come are measured again, with more time."""
    shop.restock()
    (one,) = vanished(shop, PAGE, clients=3, idle_s=0.002, maps=["refuse"])
    assert (one.kept_rows, one.refused, one.kept_after_expiry, one.served_after_expiry) == (3 * ROWS, 1, 0, 1)


def test_who_is_asking(found: Found) -> None:
    kinds = {one.kind: one for one in found.identities}
    checks = {kind: (one.passwords, one.signatures, one.look_ups) for kind, one in kinds.items()}
    assert checks == {
        "password": (REQUESTS, 0, 0), "token": (1, REQUESTS, 0), "session": (1, 0, REQUESTS),
        "session, stable": (1, 0, REQUESTS),
    }  # fmt: skip
    assert [kind for kind, one in kinds.items() if one.after_log_out] == ["password", "token"]
    assert [kind for kind, one in kinds.items() if not one.at_another_server] == ["session"]
    assert [kind for kind, one in kinds.items() if not one.after_a_kill] == ["session"]


def test_a_session_that_notifies(found: Found) -> None:
    told = found.notices
    assert told is not None
    assert (told.told, told.requests_while_waiting, told.recovered) == (told.rows, 0, 1)
    assert told.found == told.rows
    assert 1 <= told.asked - told.in_vain <= told.rows
    assert (told.told_after_a_kill, told.renewal_refused) == (0, True)


def test_the_comparison_has_the_six_rows_of_the_text(found: Found) -> None:
    lines = comparison(found)
    assert [line.subject for line in lines] == ["result", "server", "news", "work", "consistency", "identity"]
    measured = {line.subject: (line.stateless.measured, line.stateful.measured) for line in lines}
    assert measured["result"] == ("the same request 3 times: 1 answer", "the same request 3 times: 3 answers")
    assert "0 of 7 requests refused" in measured["server"][0]
    assert "3 of 6 requests refused; 0 if both" in measured["server"][1]
    assert "420 recompute, 270 offset, 60 keyset" in measured["work"][0]
    assert "60; for each client 60 rows are kept" in measured["work"][1]
    assert "2 requests refused, 30 rows read again (0 with stable memory); 5 rows shown" in measured["consistency"][1]


@pytest.mark.parametrize("width", [30, 60, 100])
def test_the_tables_fit_the_terminal(found: Found, width: int) -> None:
    screen = StringIO()
    show(Console(file=screen, width=width, highlight=False), found)
    text = screen.getvalue()
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    assert "…" not in text
    for word in ("recompute", "keyset", "stateful", "in vain", "6 twice", "5 missed", "5 stale"):
        assert word in " ".join(text.split())


def test_the_chart_of_the_pages(found: Found) -> None:
    picture = svg(cost_chart(found.costs, PAGE))
    assert picture.count("<title>view, stable</title>") == 2
    assert "rows that the database visits" in picture


def test_the_page_has_every_table_and_the_chart(found: Found) -> None:
    html = page(found)
    assert html.count("<table>") == 10
    assert html.count("<svg ") == 1
    assert "<td>6 twice</td>" in html
    assert "[yellow]" not in html


def test_the_command_knows_every_experiment_and_every_model() -> None:
    assert set(TOPICS["all"]) == set(EXPERIMENTS)
    assert COMPARISON == TABLE
    assert set(MODELS) == set(SERVERS)


def _missing() -> Path:
    raise servers.Missing("PostgreSQL is not installed")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["state", "changes", "--rows", "60", "--page", "10"]
    assert cli([*arguments, "-o", str(tmp_path / "changes.md"), "--json"]) == 0
    printed = msgspec.json.decode(capsys.readouterr().out, type=Found)
    assert (printed.rows, printed.page, len(printed.changes)) == (60, 10, 16)
    assert "| insert behind | 6 twice | 6 twice | all right | all right |" in (tmp_path / "changes.md").read_text()
    assert cli([*arguments, "-o", str(tmp_path / "changes.svg")]) == 64
    assert "changes has no chart" in capsys.readouterr().err
    monkeypatch.setattr(servers, "_postgres_programs", _missing)
    assert cli([*arguments, "--database", "postgresql"]) == 69
    assert "SQLite is part of Python" in capsys.readouterr().err
    assert cli(["state", "pages", "--rows", "60", "--page", "30"]) == 64
    assert "fewer than three pages" in capsys.readouterr().err


def test_on_postgresql_too(postgres: str, tmp_path: Path) -> None:
    shop = Shop(postgres, tmp_path, ROWS, "pool", cost=CHEAP)
    try:
        after = {one.way: one for one in killed(shop, PAGE, ["view", "view, stable"])}
        assert (after["view"].refused, after["view"].repeated) == (2, 30)
        assert (after["view, stable"].refused, after["view, stable"].repeated, after["view, stable"].missed) == (
            0,
            0,
            0,
        )
    finally:
        with shop.store.connection() as connection:
            for table in ("product", "paging_view", "paging_view_row", "paging_session"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
        shop.store.close()


@pytest.mark.parametrize("way", ["keyset", "view, stable"])
def test_a_server_may_be_killed_at_any_moment(shop: Shop, way: str) -> None:
    """Also inside a request: a cursor, or a view in stable memory that is read by steps, loses and repeats nothing."""
    shop.restock()
    rows: list[Row] = []
    with shop.server(stable=way != "keyset") as server, shop.client(server) as client:
        done = threading.Event()
        kills = 0

        def kill_and_start() -> None:
            nonlocal kills
            while kills < 3 and not done.wait(0.02 * (kills + 1)):
                server.kill()
                server.start_again()
                kills += 1

        killer = threading.Thread(target=kill_and_start)
        page = client.first(parameter(way), 1)
        name, step = page["next"], 1
        killer.start()
        rows += [(price, number, text) for price, number, text in page["rows"]]
        while page["next"] is not None:
            place = name if way != "keyset" else page["next"]
            try:
                page = client.following(parameter(way), place, 1, None if way == "keyset" else step)
            except (OSError, HTTPException):
                time.sleep(0.01)  # the server starts again; its port refuses meanwhile
                continue
            step += 1
            rows += [(price, number, text) for price, number, text in page["rows"]]
            if kills < 3:
                time.sleep(0.01)  # so that the reading lasts longer than the killing
        done.set()
        killer.join()
    assert kills >= 1
    assert rows == sorted(products(ROWS))


def test_a_server_ends_with_the_process_that_started_it(shop: Shop) -> None:
    with shop.server() as server:
        watched = os.pidfd_open(server.pid)
        server._stdin.close()  # as the kernel does when that process is killed
        ready, _, _ = select.select([watched], [], [], 20)
        os.close(watched)
        assert ready


def test_no_secret_is_in_the_arguments_the_environment_or_the_log(shop: Shop) -> None:
    with shop.server() as server, shop.client(server, "session") as client, shop.client(server) as other:
        assert client.ask("GET", "/status")
        view = client.first("view", PAGE)["next"]
        cursor = other.first("keyset", PAGE)["next"]
        client.ask("GET", "/rows", {"view": view})
        process = Path(f"/proc/{server.pid}")
        public = process.joinpath("cmdline").read_bytes() + process.joinpath("environ").read_bytes()
        used = [shop.authorization, client.authorization, other.authorization, view, cursor]
    public += shop.log.read_bytes()
    secrets = [text.split(" ")[-1].encode() for text in used] + [
        shop._password.encode(),
        shop.key,
        shop.key.hex().encode(),
    ]
    assert b"vez.servers.paging" in public
    assert [secret for secret in secrets if secret in public] == []


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    setup = Setup(database=str(tmp_path / "no" / "such" / "folder.db"), key=new_key(), accounts=[], stable=True)
    with pytest.raises(EngineUnavailable, match=r"did not start: .*unable to open database file"):
        ServerProcess(setup, tmp_path / "log")


def test_the_products_of_a_shop_are_in_another_order_than_their_numbers() -> None:
    assert sorted(products(50)) != products(50)
