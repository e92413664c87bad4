"""The table of mutants that are no mistakes (`equivalents.toml`): each with the reason why nothing can catch it."""

from __future__ import annotations

import tomllib
from pathlib import Path

TABLE = Path(__file__).with_name("equivalents.toml")


def known() -> dict[str, str]:
    """The reasons by the name of the mutant."""
    groups = tomllib.loads(TABLE.read_text(encoding="utf-8")).get("equivalent", [])
    found: dict[str, str] = {}
    for group in groups:
        for name in group["mutants"]:
            if name in found:
                raise SystemExit(f"{TABLE.name} has {name!r} twice")
            found[name] = group["reason"]
    return found
