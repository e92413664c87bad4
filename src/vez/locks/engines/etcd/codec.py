"""Codec: translates operations of etcd into requests of its JSON gateway, and the replies back. No I/O.

Keys and values are base64, 64-bit numbers are text, and fields that are 0, false or empty are left out.

A read-only transaction is never sent as a transaction. etcd 3.5.1, and other versions before the fix of its issue
14110, panic if the client of such a transaction disconnects while it runs. One read is sent as a plain range. Several
reads are sent together with the removal of a key that never exists. This makes the transaction a write for the server,
and for a write the server does not check whether the client is still connected.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import msgspec

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


def decoded(text: bytes) -> Any:
    """Parse a JSON text. Raises `msgspec.DecodeError`, which is a `ValueError`, for a text that etcd could not have
    written."""
    try:
        return msgspec.json.decode(text)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


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
        refused."""
        found = decoded(body)
        if isinstance(request, KeepAlive):
            found = found["result"]
        revision = int(found["header"]["revision"])
        if isinstance(request, Txn):
            if _is_one_read(request):
                return TxnDone(True, (self._found(found),), revision)
            asked = request.then if found.get("succeeded") else request.otherwise
            replies = found.get("responses", [])
            if found.get("succeeded") and _only_reads(request):
                replies = replies[:-1]
            return TxnDone(
                bool(found.get("succeeded")),
                tuple(self._reply(one, reply) for one, reply in zip(asked, replies, strict=True)),
                revision,
            )
        if isinstance(request, Revoke):
            return None
        seconds = int(found.get("TTL", 0))
        if isinstance(request, LeaseGrant) and seconds <= 0:
            raise ValueError(f"a lease of {seconds} seconds")
        return LeaseFor(seconds)

    def watch(self, watch: Watch, *, now: bool = False) -> bytes:
        """The body of a watch request, from the revision that `watch` asks for or, if `now` is true, from the present
        one."""
        create: dict[str, str] = {"key": self._key(watch.key)}
        if watch.end:
            create["range_end"] = self._key(watch.end)
        if watch.start and not now:
            create["start_revision"] = str(watch.start)
        return _encoder.encode({"create_request": create})

    def revision(self, result: dict[str, Any]) -> int:
        """The revision of the store at the time when the server wrote this watch message."""
        return int(result["header"]["revision"])

    def events(self, result: dict[str, Any]) -> tuple[Event, ...]:
        """The events of one watch message."""
        return tuple(self._event(one) for one in result.get("events", ()))

    def _event(self, found: dict[str, Any]) -> Event:
        kv = found["kv"]
        revision = int(kv["mod_revision"])
        if found.get("type") == "DELETE":
            return Event(self._plain(kv["key"]), revision)
        entry = self._entry(kv)
        return Event(entry.key, revision, entry)

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

    def _reply(self, asked: Put | Delete | Get, reply: dict[str, Any]) -> Written | Found:
        if isinstance(asked, Get):
            return self._found(reply["response_range"])
        if isinstance(asked, Delete):
            return Written(int(reply["response_delete_range"].get("deleted", 0)))
        return Written()

    def _found(self, reply: dict[str, Any]) -> Found:
        return Found(tuple(self._entry(kv) for kv in reply.get("kvs", ())))

    def _entry(self, kv: dict[str, Any]) -> Entry:
        value = b64decode(kv.get("value", "")).decode(errors="replace")
        create, mod = int(kv["create_revision"]), int(kv["mod_revision"])
        return Entry(self._plain(kv["key"]), value, create, mod, int(kv.get("lease", 0)))

    def _key(self, key: str) -> str:
        return b64encode((self._namespace + key).encode()).decode()

    def _plain(self, key: str) -> str:
        return b64decode(key).decode(errors="replace")[self._start :]
