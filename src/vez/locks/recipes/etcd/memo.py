"""The memo of a name: one key that belongs to no session, so it stays when its writer has gone.

It is written with the token of the holder. A holder that has lost the name without noticing cannot replace what a later
one wrote.
"""

from __future__ import annotations

import msgspec

from vez.locks.recipes.base import Answer, Call, Failed, Recipe, Refused, Wait
from vez.locks.recipes.etcd.operations import Compare, Delete, Entry, Get, Put, Txn, TxnDone
from vez.locks.recipes.etcd.session import AGAIN

MEMOS = "vez/memos/"


class Memo(msgspec.Struct, frozen=True):
    """The value of the key."""

    token: int
    text: str


def read(kind: str, name: str) -> Recipe[Memo | None]:
    """The memo of a name, or None."""
    entry = yield from _look(kind, name)
    return None if entry is None else _memo(entry)


def write(kind: str, name: str, token: int, text: str | None) -> Recipe[int | None]:
    """Replace the memo; without a text, remove it. Returns None, or the higher token with which it was written before.
    After a lost reply it reads again: the write took effect, or the key is still as it was seen, or somebody else has
    written it."""
    key, memo = _key(kind, name), None if text is None else Memo(token, text)
    change = Delete(key) if memo is None else Put(key, msgspec.json.encode(memo).decode())
    while True:
        entry = yield from _look(kind, name)
        before = None if entry is None else _memo(entry)
        if before == memo:
            return None
        if before is not None and before.token > token:
            return before.token
        reply = yield Call(Txn((Compare(key, "mod", 0 if entry is None else entry.mod),), (change,)))
        if isinstance(reply, Refused):
            raise Failed(reply.why)
        if isinstance(reply, Answer):
            done: TxnDone = reply.value
            if done.succeeded:
                return None
        else:
            yield Wait(seconds=AGAIN)


def _look(kind: str, name: str) -> Recipe[Entry | None]:
    while True:
        reply = yield Call(Txn((), (Get(_key(kind, name)),)))
        if isinstance(reply, Refused):
            raise Failed(reply.why)
        if isinstance(reply, Answer):
            entries: tuple[Entry, ...] = reply.value.replies[0].entries
            return entries[0] if entries else None
        yield Wait(seconds=AGAIN)


def _key(kind: str, name: str) -> str:
    return f"{MEMOS}{kind}/{name}"


def _memo(entry: Entry) -> Memo:
    """What is no memo of vez has the lowest token: it can be replaced."""
    try:
        return msgspec.json.decode(entry.value, type=Memo)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return Memo(0, entry.value)
