"""Codec: translates operations of etcd into requests of its JSON gateway, and the replies (`replies.py`) back. No I/O.

A read-only transaction is never sent as a transaction. etcd 3.5.1, and other versions before the fix of its issue
14110, panic if the client of such a transaction disconnects while it runs. One read is sent as a plain range. Several
reads are sent together with the removal of a key that never exists. This makes the transaction a write for the server,
and for a write the server does not check whether the client is still connected.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, TypeVar

import msgspec

from vez.locks.engines.etcd.replies import (
    Change,
    HeaderOnly,
    KeyValue,
    LeaseReply,
    NotEtcd,
    Range,
    RangeReply,
    Renewal,
    Result,
    TxnReply,
    Watched,
    read,
    said,
)
from vez.locks.recipes.etcd.operations import (
    EVERYTHING,
    Compare,
    Delete,
    Entry,
    Event,
    Found,
    Get,
    KeepAlive,
    LeaseFor,
    LeaseGrant,
    Put,
    Request,
    Revoke,
    Txn,
    TxnDone,
    Watch,
    Written,
    prefix_end,
)

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_NOTHING = "vez/nothing"
"""A key that is never written."""
_NUL = b64encode(b"\0").decode()
_SORTED = {"oldest first": "ASCEND", "newest first": "DESCEND"}
_ATTRIBUTES = {"create": "create_revision", "mod": "mod_revision", "version": "version"}


_NO_READ = Delete(_NOTHING)


def _only_reads(txn: Txn) -> bool:
    return all(isinstance(one, Get) for one in (*txn.then, *txn.otherwise))


def _is_one_read(txn: Txn) -> bool:
    return not txn.conditions and len(txn.then) == 1 and not txn.otherwise and isinstance(txn.then[0], Get)


class Codec:
    """Writes requests and reads replies; all keys are below one namespace."""

    def __init__(self, namespace: str = "") -> None:
        self._namespace = namespace
        self._start = len(namespace)

    def encode(self, request: Request) -> tuple[str, bytes]:
        """The path and the body of a request."""
        if isinstance(request, Txn):
            if _is_one_read(request):
                return "/v3/kv/range", _encoder.encode(self._operation(request.then[0])["request_range"])
            return "/v3/kv/txn", _encoder.encode(self._txn(request))
        if isinstance(request, LeaseGrant):
            return "/v3/lease/grant", _encoder.encode({"ID": str(request.lease), "TTL": str(request.seconds)})
        if isinstance(request, KeepAlive):
            return "/v3/lease/keepalive", _encoder.encode({"ID": str(request.lease)})
        return "/v3/lease/revoke", _encoder.encode({"ID": str(request.lease)})

    def decode(self, request: Request, body: bytes) -> TxnDone | LeaseFor | None:
        """Parse the reply to a request. Every reply of etcd has a header. JSON from any other server has none, and is
        refused with `NotEtcd`."""
        if isinstance(request, Txn):
            if _is_one_read(request):
                found = read(RangeReply, body)
                return TxnDone(True, (self._found(found),), found.header.revision)
            return self._done(request, read(TxnReply, body))
        if isinstance(request, Revoke):
            read(HeaderOnly, body)
            return None
        lease = read(Renewal, body).result if isinstance(request, KeepAlive) else read(LeaseReply, body)
        if request.lease != lease.ID:
            raise NotEtcd(f"expected lease {request.lease:x}, found {lease.ID:x}")
        if isinstance(request, LeaseGrant) and lease.TTL <= 0:
            raise NotEtcd(f"expected a lease of {request.seconds} seconds, found {lease.TTL}")
        return LeaseFor(max(0, lease.TTL))

    def _done(self, txn: Txn, found: TxnReply) -> TxnDone:
        """The results of a transaction, one for each operation that was asked for."""
        asked = (*txn.then, *((_NO_READ,) if _only_reads(txn) else ())) if found.succeeded else txn.otherwise
        if len(found.responses) != len(asked):
            raise NotEtcd(f"expected {len(asked)} results of a transaction, found {len(found.responses)}")
        replies = tuple(self._reply(one, reply) for one, reply in zip(asked, found.responses, strict=True))
        return TxnDone(found.succeeded, replies[: len(txn.then) if found.succeeded else None], found.header.revision)

    def watch(self, watch: Watch, *, now: bool = False) -> bytes:
        """The body of a watch request, from the revision that `watch` asks for or, if `now` is true, from the present
        one."""
        create: dict[str, str] = {"key": self._key(watch.key)}
        if watch.end:
            create["range_end"] = self._key(watch.end)
        if watch.start and not now:
            create["start_revision"] = str(watch.start)
        return _encoder.encode({"create_request": create})

    def events(self, result: Watched) -> tuple[Event, ...]:
        """The events of one watch message. Raises `NotEtcd`."""
        return tuple(self._event(one) for one in result.events)

    def _event(self, found: Change) -> Event:
        if found.type == "DELETE":
            return Event(self._plain(found.kv.key), found.kv.mod_revision)
        entry = self._entry(found.kv)
        return Event(entry.key, entry.mod, entry)

    def _txn(self, txn: Txn) -> dict[str, Any]:
        return {
            "compare": [self._compare(one) for one in txn.conditions],
            "success": [self._operation(one) for one in (*txn.then, *((_NO_READ,) if _only_reads(txn) else ()))],
            "failure": [self._operation(one) for one in txn.otherwise],
        }

    def _compare(self, one: Compare) -> dict[str, str]:
        target = {"create": "CREATE", "mod": "MOD", "version": "VERSION"}[one.attribute]
        return {
            "key": self._key(one.key),
            "target": target,
            "result": "EQUAL",
            _ATTRIBUTES[one.attribute]: str(one.equals),
        }

    def _operation(self, one: Put | Delete | Get) -> dict[str, Any]:
        asked: dict[str, Any] = {"key": self._key(one.key)}
        if isinstance(one, Put):
            asked["value"] = b64encode(one.value.encode()).decode()
            if one.lease:
                asked["lease"] = str(one.lease)
            return {"request_put": asked}
        if one.end == EVERYTHING and not one.key:
            asked = {
                "key": self._key("") if self._namespace else _NUL,
                "range_end": b64encode(prefix_end(self._namespace).encode()).decode() if self._namespace else _NUL,
            }
        elif one.end:
            asked["range_end"] = self._key(one.end)
        if isinstance(one, Delete):
            return {"request_delete_range": asked}
        if one.order:
            asked |= {"sort_order": _SORTED[one.order], "sort_target": "CREATE"}
        if one.limit:
            asked["limit"] = str(one.limit)
        if one.created_before:
            asked["max_create_revision"] = str(one.created_before - 1)
        return {"request_range": asked}

    def _reply(self, asked: Put | Delete | Get, reply: Result) -> Written | Found:
        if isinstance(asked, Get):
            return self._found(_there(reply.response_range, "a range"))
        if isinstance(asked, Delete):
            return Written(_there(reply.response_delete_range, "a removal").deleted)
        _there(reply.response_put, "a put")
        return Written()

    def _found(self, reply: Range) -> Found:
        return Found(tuple(self._entry(kv) for kv in reply.kvs))

    def _entry(self, kv: KeyValue) -> Entry:
        if not kv.create_revision:
            raise NotEtcd("expected the revision at which a key was created, found none")
        value = kv.value.decode(errors="replace")
        return Entry(self._plain(kv.key), value, kv.create_revision, kv.mod_revision, kv.lease)

    def _key(self, key: str) -> str:
        return b64encode((self._namespace + key).encode()).decode()

    def _plain(self, key: bytes) -> str:
        text = key.decode(errors="replace")
        if not text.startswith(self._namespace):
            raise NotEtcd(f"expected a key that begins with {self._namespace!r}, found {said(text)!r}")
        return text[self._start :]


def _there(result: T | None, what: str) -> T:
    if result is None:
        raise NotEtcd(f"expected the result of {what} in a transaction, found another one")
    return result
