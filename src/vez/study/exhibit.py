"""Exhibit: a specimen of the zoo with a short run in which its mistake shows."""

from __future__ import annotations

import inspect
import textwrap

import msgspec

from vez.catalogue.zoo import Specimen
from vez.errors import VezError
from vez.study.report import Report, run_and_report
from vez.study.search import Break, first_break
from vez.study.shortest import Shortest, shortest

SEEDS = 100
"""Every specimen is caught within this many seeds; a test checks it."""


class Exhibit(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `vez zoo NAME`."""

    specimen: Specimen
    found: Break
    short: Shortest
    report: Report


def exhibit(specimen: Specimen) -> Exhibit:
    """Find a run in which the specimen fails, and the smallest one that the checker knows."""
    found = catch(specimen)
    if found is None:
        raise VezError(f"{specimen.name} was not caught in {SEEDS} seeds", hint="this is a bug in vez")
    short = shortest(found.scenario, specimen.algorithm, specimen.breaks, states=specimen.states)
    report = run_and_report(short.scenario, specimen.algorithm)
    return Exhibit(specimen=specimen, found=found, short=short, report=report)


def catch(specimen: Specimen) -> Break | None:
    """The first seed in which the specimen breaks the property that it is meant to break, or None."""
    worlds = (specimen.world.but(seed=seed) for seed in range(SEEDS))
    return first_break(worlds, specimen.algorithm, [specimen.breaks])


def source(specimen: Specimen) -> str:
    """The code that differs from the right algorithm."""
    return textwrap.dedent(inspect.getsource(specimen.algorithm))
