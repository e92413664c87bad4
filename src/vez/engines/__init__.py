"""Engines keep the turns. Each is a file or a folder; the scheme of a URL says which. Other packages bring more."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from vez import plugins
from vez.engines.base import Traits
from vez.engines.seam import AsyncEngine, Engine
from vez.engines.urls import which_url
from vez.errors import Misuse, UnknownName, VezError

ENGINES: dict[str, str] = {
    "etcd": "vez.engines.etcd",
    "file": "vez.engines.file",
    "memory": "vez.engines.memory",
    "peers": "vez.peers",
}
"""Scheme of a URL, and the module that provides its engine; imported at the first use."""


_PARTS: dict[str, Any] = {"TRAITS": Traits, "NEEDS": str, "open_engine": Callable, "open_async_engine": Callable}


class Provider(Protocol):
    """A module, or another object, that opens the engines of a scheme."""

    TRAITS: Traits
    """What holds for every URL of the scheme; `engine.traits` is the exact value."""
    NEEDS: str
    """What must be installed to use it, for example `vez[etcd]`; empty if nothing."""

    def open_engine(self, url: str) -> Engine:
        """The engine of a URL, for threads."""

    def open_async_engine(self, url: str) -> AsyncEngine:
        """The engine of a URL, for tasks. Does no I/O that blocks: it connects at the first use."""


def schemes() -> list[str]:
    """All schemes for which there is a provider: those of vez, then those of other packages."""
    return [*ENGINES, *(name for name in plugins.entries(plugins.ENGINES) if name not in ENGINES)]


def provider(scheme: str) -> Provider:
    """The provider of a scheme. What vez has itself comes first, so that no package can replace it."""
    if scheme in ENGINES:
        return cast(Provider, import_module(ENGINES[scheme]))
    if scheme not in plugins.entries(plugins.ENGINES):
        raise UnknownName("engine", scheme, schemes())
    found = plugins.load(plugins.ENGINES, scheme)
    try:
        missing = [name for name in _PARTS if not hasattr(found, name)]
        wrong = [] if missing else [name for name, kind in _PARTS.items() if not isinstance(getattr(found, name), kind)]
    except Exception as error:  # a property of its own
        raise plugins.broken_by(plugins.ENGINES, scheme, error) from error
    if missing:
        raise plugins.broken(plugins.ENGINES, scheme, f"its provider has no {', '.join(missing)}")
    if wrong:
        raise plugins.broken(plugins.ENGINES, scheme, f"its provider has a wrong {', '.join(wrong)}")
    return cast(Provider, found)


def open_engine(url: str | None = None) -> Engine:
    """Open the engine of a URL, for threads."""
    text = which_url(url)
    made = _opened(text, _provider_of(text).open_engine)
    return made if isinstance(made, Engine) else _refuse(text, made, "Engine")


def open_async_engine(url: str | None = None) -> AsyncEngine:
    """Open the engine of a URL, for tasks."""
    text = which_url(url)
    made = _opened(text, _provider_of(text).open_async_engine)
    return made if isinstance(made, AsyncEngine) else _refuse(text, made, "AsyncEngine")


def _opened(url: str, opens: Callable[[str], object]) -> object:
    """What a provider opens. Mistakes of a plug-in are `BrokenPlugin`; what it says in errors of vez stays."""
    scheme = url.partition(":")[0]
    try:
        return opens(url)
    except VezError:
        raise
    except Exception as error:
        if scheme in ENGINES:
            raise
        raise plugins.broken_by(plugins.ENGINES, scheme, error) from error


def _refuse(url: str, made: object, expected: str) -> NoReturn:
    scheme = url.partition(":")[0]
    raise plugins.broken(plugins.ENGINES, scheme, f"its provider opened {made!r} where an {expected} is expected")


def _provider_of(url: str) -> Provider:
    scheme, colon, _ = url.partition(":")
    if not colon:
        raise Misuse(f"{url!r} is not an engine URL", hint=f"for example {', '.join(f'{s}:' for s in schemes())}")
    return provider(scheme)
