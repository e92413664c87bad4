"""`vez check table:…`: the turn table as processes. Each configuration has defaults, which options change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rich.markup import escape

from vez.cli.printing.output import console, print_json
from vez.cli.printing.tables import Column, print_table
from vez.locks.models import CONFIGURATIONS, find_model

_COUNTS = ("requests", "crashes", "withdrawals")


def print_models(*, as_json: bool) -> None:
    """Print the configurations, with the description and the default options of each."""
    asked = {
        name: {count: getattr(model.question, count) for count in _COUNTS}
        for name, model in sorted(CONFIGURATIONS.items())
    }
    what = {name: (CONFIGURATIONS[name].__doc__ or "").strip() for name in asked}
    if as_json:
        print_json({name: {"what": what[name], **counts} for name, counts in asked.items()})
        return
    rows = [
        (name, escape(what[name]), " ".join(f"--{count} {number}" for count, number in counts.items() if number))
        for name, counts in asked.items()
    ]
    out = console()
    print_table(out, [Column("configuration"), Column("what it is"), Column("asked")], rows)
    out.print("explore one: vez check table:lock", soft_wrap=True)


def as_asked(options: Mapping[str, Any], given: Collection[str]) -> dict[str, Any]:
    """The options of a configuration: its defaults, unless the user gave an option. Only clients crash, and only the
    promised properties are judged."""
    model = find_model(options["algorithm"])
    asked = {**options}
    for count in _COUNTS:
        if count not in given and not (count == "requests" and options["want"]):
            asked[count] = str(model.question.requests) if count == "requests" else getattr(model.question, count)
    if "victims" not in given and asked["crashes"] + asked["crashes_inside"]:
        clients = options["ids"] or range(1, (options["n"] or model.smallest()) + 1)
        asked["victims"] = tuple(clients)[1:]
    if not options["properties"]:
        asked["properties"] = (*map(str, model.guarantees), "no_exceptions")
    return asked
