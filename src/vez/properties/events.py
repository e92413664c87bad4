"""Events in a few words, where pictures and explanations use the same ones."""

from __future__ import annotations

from vez.core.trace import AnyEvent, Paused, Resumed, Suspected, Trusted, Wanted, Withdrew

_PLAIN: dict[type, str] = {Wanted: "wants in", Paused: "stands still", Resumed: "goes on"}


def shared_words(event: AnyEvent) -> str:
    """What a process does, without its name; empty for events that each reader words in its own way."""
    match event:
        case Withdrew(retracted=retracted):
            return "takes its request back" if retracted else "stops waiting"
        case Suspected(peer=peer):
            return f"suspects {peer}"
        case Trusted(peer=peer):
            return f"trusts {peer}"
        case _:
            return _PLAIN.get(type(event), "")
