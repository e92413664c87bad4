"""Names that the shell can complete: algorithms, the zoo, pages of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click


def complete(known: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """A shell completion: the names that begin with the typed text."""

    def begun(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        return [name for name in known() if name.startswith(typed)]

    return begun


def _algorithms() -> Iterable[str]:
    from vez import plugins
    from vez.catalogue.algorithms import ALGORITHMS  # here: loading them takes a moment, which only completion needs
    from vez.locks.models.recipes import RECIPES

    return [*ALGORITHMS, *RECIPES, *plugins.entries(plugins.ALGORITHMS)]


def _checkable() -> Iterable[str]:
    from vez.locks.models import CONFIGURATIONS

    return [*_algorithms(), *CONFIGURATIONS]


def _zoo() -> Iterable[str]:
    from vez.catalogue.zoo import ZOO

    return ZOO


complete_algorithm = complete(_algorithms)
complete_checkable = complete(_checkable)
complete_zoo = complete(_zoo)
