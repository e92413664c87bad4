"""This machine: its host name, hooks at forks, and the system calls that it provides. Works on every system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from vez.errors import EngineUnavailable


def host_name() -> str:
    """The name of this machine in its network."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    from socket import gethostname

    return gethostname()


def at_fork(
    *,
    before: Callable[[], None] | None = None,
    after_in_parent: Callable[[], None] | None = None,
    after_in_child: Callable[[], None] | None = None,
) -> None:
    """Call `os.register_at_fork`; do nothing on systems without fork."""
    if hasattr(os, "register_at_fork"):
        hooks = {"before": before, "after_in_parent": after_in_parent, "after_in_child": after_in_child}
        os.register_at_fork(**{name: hook for name, hook in hooks.items() if hook is not None})


def missing(names: Sequence[str]) -> list[str]:
    """The names, of the form `module.name`, that this system does not have."""
    return [name for name in names if not _exists(*name.split("."))]


def _exists(module: str, name: str) -> bool:
    try:
        return hasattr(__import__(module), name)
    except ImportError:
        return False


def refuse_unless_linux(what: str, needed: Sequence[str], hint: str) -> None:
    """Raise `EngineUnavailable` if this is not 64-bit Linux, or one of the `module.name` that are needed is missing."""
    absent = missing(needed)
    if absent or not sys.platform.startswith("linux") or sys.maxsize < 2**32:
        without = f", without {', '.join(absent)}" if absent else ""
        raise EngineUnavailable(f"{what} needs 64-bit Linux; this is {sys.platform}{without}", hint=hint)
