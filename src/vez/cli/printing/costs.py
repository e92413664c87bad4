"""The costs of a run, for people: messages, delays and waits, a line each."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape

from vez.cli.printing.language import language
from vez.judge.properties import Measurements
from vez.judge.properties.measure import Summary
from vez.judge.words import Sentence, plain, said
from vez.study.report import Report

EMPTY = {"counted_hand_overs": "nobody_was_waiting"}
"""The text if there was nothing of this kind to measure. The default text says that no entry was free of contention."""


def print_costs(out: Console, report: Report, names: Mapping[int, str]) -> None:
    """A line for each measurement, in the language of the command line."""
    lines = _lines(report)
    spoken = language()
    wide = 2 + max(len(said(key).told(spoken)) for key in ("cost_busiest", "cost_synchronization", "cost_client"))
    for key, what in lines.items():
        out.print(f"{said(key).told(spoken):<{wide}}{escape(what.told(spoken, names))}")


def _lines(report: Report) -> dict[str, Sentence]:
    cost: Measurements = report.measurements
    kinds = ", ".join(f"{count} {kind}" for kind, count in cost.by_kind.items())
    lines = {"cost_messages": plain(f"{cost.messages}{f' ({kinds})' if kinds else ''}")}
    if report.trace.header.role == "election":
        lines["cost_leader"] = (
            said("no_common_leader") if report.leader is None else said("the_leader", leader=report.leader)
        )
    if cost.entries:
        lines["cost_entries"] = said("messages_each", entries=cost.entries, each=cost.messages_per_entry)
        lines["cost_client"] = _summary(cost.client_delay, "counted_free")
        lines["cost_synchronization"] = _summary(cost.synchronization_delay, "counted_hand_overs")
        lines["cost_waits"] = _summary(cost.waits, "counted_entries")
    loads = {process: cost.sent[process] + cost.received[process] for process in cost.sent}
    total = sum(loads.values())
    if total:
        busiest = max(loads, key=lambda process: (loads[process], -process))
        lines["cost_busiest"] = said("busiest_load", process=busiest, share=loads[busiest] / total)
    return lines


def _summary(summary: Summary, what: str) -> Sentence:
    if summary.mean is None:
        return said(EMPTY.get(what, "no_free_entry"))
    counted = said(what, count=summary.count)
    if summary.count == 1:
        return said("one_measure", mean=f"{summary.mean:.4g} ms", what=counted)
    return said("mean_measure", mean=summary.mean, what=counted, least=summary.least, most=summary.most)
