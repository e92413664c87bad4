"""The comparison of Camargos, Concorrência, "Stateless x Stateful": six rows, each claim beside its measurement."""

from __future__ import annotations

import msgspec

from vez.servers.paging.measure.experiments import Found
from vez.servers.paging.measure.notices import Notices


class Side(msgspec.Struct, frozen=True):
    """One cell: the claim of the text, and the measurement."""

    claim: str
    measured: str


class Line(msgspec.Struct, frozen=True):
    """One row of the comparison."""

    subject: str
    stateless: Side
    stateful: Side


def comparison(found: Found) -> list[Line]:
    """The six rows. Needs the experiments of `TABLE`."""
    told = found.notices
    if told is None:
        raise ValueError("the comparison needs the experiment `notices`")
    return [_result(found), _server(found), _news(told), _work(found), _consistency(found), _identity(found)]


def _result(found: Found) -> Line:
    by = {one.way: f"the same request {one.requests} times: {_answers(one.answers)}" for one in found.repeated}
    return Line(
        "result",
        Side("depends on the input", by["keyset"]),
        Side("depends on the inputs before it", by["view"]),
    )


def _server(found: Found) -> Line:
    by = {one.way: one for one in found.alternated}
    keyset, view, stable = by["keyset"], by["view"], by["view, stable"]
    return Line(
        "server",
        Side("any server can answer", f"two servers in turn: {keyset.refused} of {keyset.requests} requests refused"),
        Side("the same server must answer", f"two servers in turn: {view.refused} of {view.requests} requests refused; "
             f"{stable.refused} if both keep views in stable memory"),
    )  # fmt: skip


def _news(told: Notices) -> Line:
    return Line(
        "news",
        Side("promises the client nothing", f"{told.rows} new rows: the client asked {told.asked} times, "
             f"{told.in_vain} times in vain"),
        Side("signs a contract with the client", f"{told.rows} new rows: told of {told.told}, asked "
             f"{told.requests_while_waiting} times; after a kill told of {told.told_after_a_kill} of 1"),
    )  # fmt: skip


def _work(found: Found) -> Line:
    by = {one.way: one for one in found.costs}
    visited = {way: f"{sum(one.visited):,}" for way, one in by.items()}
    view = by["view"]
    return Line(
        "work",
        Side("repeats operations", f"rows visited to read {found.rows:,}: {visited['recompute']} recompute, "
             f"{visited['offset']} offset, {visited['keyset']} keyset; 0 rows kept"),
        Side("uses earlier results", f"rows visited to read {found.rows:,}: {visited['view']}; for each client "
             f"{view.kept_rows:,} rows are kept ({_bytes(view.bytes_per_client)})"),
    )  # fmt: skip


def _consistency(found: Found) -> Line:
    by = {one.way: one for one in found.killed}
    keyset, view, stable = by["keyset"], by["view"], by["view, stable"]
    stale = {one.way: one for one in found.changes if one.change == "remove ahead"}
    shift = {one.way: one for one in found.changes if one.change == "insert behind"}
    return Line(
        "consistency",
        Side("does not disagree with its client", f"killed in the middle: {keyset.refused} requests refused, "
             f"{keyset.repeated} rows read again; but {shift['offset'].times} rows inserted meanwhile: "
             f"{shift['offset'].repeated} rows twice with offset, {shift['keyset'].repeated} with keyset"),
        Side("may disagree if it loses its state", f"killed in the middle: {view.refused} requests refused, "
             f"{view.repeated} rows read again ({stable.repeated} with stable memory); {stale['view'].stale} rows "
             "shown that had been removed"),
    )  # fmt: skip


def _identity(found: Found) -> Line:
    by = {one.kind: one for one in found.identities}
    password, token, session = by["password"], by["token"], by["session"]
    return Line(
        "identity",
        Side("checked with every request", f"{password.requests} requests: {password.passwords} passwords "
             f"({password.milliseconds:.0f} ms each); with a token {token.passwords} password and {token.signatures} "
             f"signatures ({token.milliseconds:.1f} ms)"),
        Side("checked when the session begins", f"{session.requests} requests: {session.passwords} password and "
             f"{session.look_ups} look-ups ({session.milliseconds:.1f} ms)"),
    )  # fmt: skip


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _bytes(size: int | None) -> str:
    if size is None:
        return "of unknown size"
    return f"{size / 1000:,.0f} kB" if size < 1e6 else f"{size / 1e6:,.1f} MB"
