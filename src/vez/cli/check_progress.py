"""What `vez check` says about the size of its search, before it begins and while it runs."""

from __future__ import annotations

from typing import Any

import click

from vez.cli.printing.output import counted
from vez.cli.printing.progress import is_off
from vez.cli.printing.waiting import duration
from vez.worlds.check import Configuration, Limits, Progress
from vez.worlds.check.estimate import processes_that_ask

MOST_PLAIN = 40
"""Exponent from which a power of two is not written out."""


def expectation(configuration: Configuration, options: dict[str, Any], limits: Limits) -> str:
    """The first words about a search. If a lower bound shows that it cannot end, also say so in a line that stays."""
    asking = 0 if options["reduce"] or options["symmetry"] else processes_that_ask(configuration)
    if 2**asking > limits.states and not is_off():
        click.echo(
            f"vez: this search has at least 2^{asking} (about {2**asking:.0e}) states, since each of {asking} "
            f"processes may have asked or not\n"
            f"     it will stop at {limits.states:,} states (--max-states); try fewer processes",
            err=True,
        )
    words = f"exploring {counted(len(configuration.ids), 'process')}"
    return f"{words}, at least {2**asking:,} states" if 0 < asking < MOST_PLAIN else words


def state_of(now: Progress) -> str:
    """How far a search is, and how it grows."""
    rate = now.transitions / now.seconds if now.seconds else 0
    if now.growth is None:
        trend = ""
    elif now.expected is None:
        left_s = (now.most - now.states) * now.seconds / now.states
        trend = f", {now.growth:.1f} times as many in each layer, the limit of {now.most:,} in {duration(left_s)}"
    else:
        trend = f", about {now.expected:,} in all if the layers go on to shrink"
    return (
        f"{now.states:,} states, {rate:,.0f} transitions/s, depth {now.depth}, "
        f"queue {now.queue:,}, {now.memory >> 20:,} MiB{trend}"
    )
