"""Engines keep the turns. The scheme of a URL selects the engine; `ENGINES` lists them. Plug-ins add more.

    seam, base, views          the interfaces that every engine implements; their arguments and their results
    file, memory               the engines of one machine; `local` drives them
    network, etcd              engines on a server: the part that every server needs, and the part for etcd
    owners, own_process        owners in this process, and what they hold
    cycles, search_thread      deadlock detection (cycles of waits), and the thread in which tasks run it
    late_parts                 modules that are loaded when they are first used, and how to load them at once
    names, urls, promises      names of locks; URLs; the guarantees of an engine, in words
    queueing, wording          computations and error texts that are the same for every engine
    handles, machine           open descriptors and forks; features of this operating system
    task_primitives, thread_primitives   events, locks and background work, with the same names

The engine `peers:` is in `vez.locks.peers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, cast

from vez.errors import Misuse, UnknownName, VezError
from vez.locks.engines.base import Traits
from vez.locks.engines.seam import AsyncEngine, Engine
from vez.locks.engines.urls import which_url

ENGINES: dict[str, str] = {
    "etcd": "vez.locks.engines.etcd",
    "file": "vez.locks.engines.file",
    "memory": "vez.locks.engines.memory",
    "peers": "vez.locks.peers",
}
"""Modules of the engines, by the scheme of the URL. A module is imported when it is first used."""


_PARTS: dict[str, Any] = {"TRAITS": Traits, "NEEDS": str, "open_engine": Callable, "open_async_engine": Callable}


class Provider(Protocol):
    """A module, or another object, that opens the engines of a scheme."""

    TRAITS: Traits
    """Traits that hold for every URL of the scheme. `engine.traits` is the exact value for one URL."""
    NEEDS: str
    """Package or extra that must be installed, for example `vez[etcd]`; empty if none is needed."""

    def open_engine(self, url: str) -> Engine:
        """The engine of a URL, for threads."""

    def open_async_engine(self, url: str) -> AsyncEngine:
        """The engine of a URL, for tasks. Does no blocking I/O: the engine connects when it is first used."""


def schemes() -> list[str]:
    """All schemes for which there is a provider: those of vez, then those of other packages."""
    from vez import plugins

    return [*ENGINES, *(name for name in plugins.entries(plugins.ENGINES) if name not in ENGINES)]


def provider(scheme: str) -> Provider:
    """The provider of a scheme. The providers of vez come first, so that no package can replace them."""
    if scheme in ENGINES:
        return cast(Provider, __import__(ENGINES[scheme], fromlist=("open_engine",)))
    from vez import plugins

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
    """Call the function of a provider, and return what it opens. An exception of a plug-in becomes `BrokenPlugin`;
    errors of vez pass unchanged."""
    scheme = url.partition(":")[0]
    try:
        return opens(url)
    except VezError:
        raise
    except Exception as error:
        if scheme in ENGINES:
            raise
        from vez import plugins

        raise plugins.broken_by(plugins.ENGINES, scheme, error) from error


def _refuse(url: str, made: object, expected: str) -> NoReturn:
    from vez import plugins

    scheme = url.partition(":")[0]
    raise plugins.broken(plugins.ENGINES, scheme, f"its provider opened {made!r} where an {expected} is expected")


def _provider_of(url: str) -> Provider:
    scheme, colon, rest = url.partition(":")
    if not colon:
        raise Misuse(f"{url!r} is not an engine URL", hint=f"for example {', '.join(f'{s}:' for s in schemes())}")
    try:
        return provider(scheme)
    except UnknownName as error:
        if rest.isdigit():  # a host and a port
            hint = f"for example etcd://{url}"
            raise Misuse(f"{url!r} is not an engine URL: it has no scheme", hint=hint) from error
        raise
