"""Sessions: a lease, the key that shows it, and its renewal."""

from __future__ import annotations

import msgspec

from vez.locks.recipes.base import (
    Answer,
    Call,
    Changed,
    Failed,
    Lost,
    Proved,
    Recipe,
    Refused,
    SessionEnded,
    Unwatched,
    Wait,
    Withdrawn,
)
from vez.locks.recipes.etcd.operations import (
    Compare,
    Delete,
    Entry,
    Found,
    Get,
    KeepAlive,
    LeaseFor,
    LeaseGrant,
    Put,
    Revoke,
    Txn,
    TxnDone,
    Watch,
    prefix_end,
)

SESSIONS = "vez/sessions/"
AGAIN = 0.05
"""Seconds before a call without a reply is repeated."""
RENEWALS = 3
"""Renewals within one lease: one may fail, and the next is still in time."""


class Session(msgspec.Struct, frozen=True):
    """A session, as requests use it."""

    lease: int
    fence: int
    """Modification revision of its key when it was last seen."""
    value: str = ""
    """Value of its key, which describes the owner."""

    @property
    def key(self) -> str:
        """The key of the session."""
        return session_key(self.lease)


def session_key(lease: int) -> str:
    """The key of the session with this lease."""
    return f"{SESSIONS}{lease:x}"


def open_session(lease: int, seconds: int, value: str) -> Recipe[Session]:
    """Make the lease and the key of a session. The client chooses the lease number, so asking twice makes one lease."""
    try:
        granted = yield from _grant(lease, seconds)
        yield Proved(granted)
        return (yield from _show(lease, value))
    except Withdrawn:
        yield from close_session(Session(lease, 0))
        raise


def _show(lease: int, value: str) -> Recipe[Session]:
    key = session_key(lease)
    show = Txn((Compare(key, "create", 0),), (Put(key, value, lease),), (Get(key),))
    while True:
        reply = yield Call(show)
        if isinstance(reply, Answer):
            done: TxnDone = reply.value
            if done.succeeded:
                return Session(lease, done.revision, value)
            found = done.replies[0]
            assert isinstance(found, Found), "a Get was asked for"
            if not found.entries:
                raise Failed("it says that the key of the session exists, and that it does not")
            return Session(lease, found.entries[0].mod, value)
        if isinstance(reply, Refused):
            raise SessionEnded(reply.why)
        yield Wait(seconds=AGAIN)


def _grant(lease: int, seconds: int) -> Recipe[int]:
    """Make the lease. Returns the seconds until it ends.

    A refusal may mean that an earlier request without a reply has made the lease. If that lease is over by now, we ask
    again, at most once for each request without a reply. A refusal beyond those has another reason.
    """
    unanswered = 0
    while True:
        reply = yield Call(LeaseGrant(lease, seconds))
        if isinstance(reply, Answer):
            answer: LeaseFor = reply.value
            return answer.seconds
        if isinstance(reply, Refused):
            again = yield Call(KeepAlive(lease))
            if isinstance(again, Answer):
                if again.value.seconds:
                    return int(again.value.seconds)
                if not unanswered:
                    raise Failed(reply.why)
                unanswered -= 1
                continue
        else:
            unanswered += 1
        yield Wait(seconds=AGAIN)


def keep(session: Session, seconds: int) -> Recipe[str]:
    """Renew the lease until it is gone. Returns the reason. It also returns at once when the key of the session is
    removed, and it tells holders of this session that they were released by force."""
    start = session.fence + 1
    while True:
        reply = yield Call(KeepAlive(session.lease))
        if isinstance(reply, Answer):
            answer: LeaseFor = reply.value
            if not answer.seconds:
                return "its lease expired"
            yield Proved(answer.seconds)
            pause = seconds / RENEWALS
        else:
            pause = AGAIN
        event = yield Wait(Watch(session.key, start, prefix_end(session.key)), pause)
        if isinstance(event, Changed):
            for change in event.events:
                start = max(start, change.revision + 1)
                if change.key == session.key and change.entry is None:
                    return "its lease was revoked"
                if change.key.startswith(broken_prefix(session.lease)) and change.entry is not None:
                    yield from _hear(change.entry)
        elif isinstance(event, Unwatched):
            start = yield from _look(session, start)
            if not start:
                return "its lease was revoked"


def _look(session: Session, start: int) -> Recipe[int]:
    """Read what a watch that ended may have missed. Returns the revision from which to watch, or 0 if the key of the
    session is gone."""
    reply = yield Call(Txn((), (Get(session.key, prefix_end(session.key)),)))
    if not isinstance(reply, Answer):
        return start  # the renewal that follows shows whether the lease is still there
    done: TxnDone = reply.value
    (found,) = done.replies
    assert isinstance(found, Found), "a Get was asked for"
    if all(entry.key != session.key for entry in found.entries):
        return 0
    for entry in found.entries:
        if entry.key.startswith(broken_prefix(session.lease)):
            yield from _hear(entry)
    return done.revision + 1


def _hear(entry: Entry) -> Recipe[None]:
    """Tell a holder that it was released by force. Then remove the key with this message, because the client that
    forced the release waits for that."""
    key, _, rest = entry.value.partition(" ")
    token, _, why = rest.partition(" ")
    if token.isascii() and token.isdigit():  # a key that somebody else wrote must not end the renewal
        yield Lost(key, why, int(token))
    yield Call(Txn((), (Delete(entry.key),)))


def broken_prefix(lease: int) -> str:
    """Prefix of the keys that tell a session which of its holdings were broken. A value is the name of the queue, the
    token and the reason, separated by spaces. The token is needed because the session may have another turn of that
    name when it learns of the break."""
    return f"{session_key(lease)}/broken/"


def close_session(session: Session) -> Recipe[None]:
    """End the lease, which removes its keys. A lease that is gone already is not an error."""
    while True:
        reply = yield Call(Revoke(session.lease))
        if isinstance(reply, Answer | Refused):
            return
        yield Wait(seconds=AGAIN)
