"""Engines keep the turns. Each is a file or a folder; the scheme of a URL says which."""

from __future__ import annotations

from importlib import import_module

from vez.engines.base import Engine
from vez.engines.urls import which_url
from vez.errors import Misuse, UnknownName

ENGINES: dict[str, str] = {
    "file": "vez.engines.file:open_engine",
    "memory": "vez.engines.memory:open_engine",
}
"""Scheme of a URL, and the function that opens its engine; imported at the first use."""


def open_engine(url: str | None = None) -> Engine:
    """Open the engine of a URL."""
    text = which_url(url)
    scheme, colon, _ = text.partition(":")
    if not colon:
        raise Misuse(f"{text!r} is not an engine URL", hint=f"for example {', '.join(f'{s}:' for s in ENGINES)}")
    if scheme not in ENGINES:
        raise UnknownName("engine", scheme, ENGINES)
    module, function = ENGINES[scheme].split(":")
    engine: Engine = getattr(import_module(module), function)(text)
    return engine
