"""Requests to etcd and its replies in a few words, for runs that are printed and drawn."""

from __future__ import annotations

from vez.locks.recipes.base import Answer, Changed, Refused
from vez.locks.recipes.etcd.operations import (
    Compare,
    Delete,
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
)


def asked(request: Request | Watch) -> str:
    """A request: `if lock/20 is new: put lock/20, get lock/…`."""
    match request:
        case LeaseGrant(lease, seconds):
            return f"grant lease {lease:x} for {seconds} s"
        case KeepAlive(lease):
            return f"renew lease {lease:x}"
        case Revoke(lease):
            return f"revoke lease {lease:x}"
        case Watch(key, start):
            return f"watch {key} from {start or 'now on'}"
        case Txn(conditions, then, otherwise):
            first = ", ".join(map(_operation, then))
            if not conditions:
                return first
            rest = f", else {', '.join(map(_operation, otherwise))}" if otherwise else ""
            return f"if {' and '.join(map(_condition, conditions))}: {first}{rest}"


def replied(reply: Answer | Refused | Changed) -> str:
    """A reply: `yes at 2: lock/20 of 1`."""
    match reply:
        case Refused(why):
            return f"refused: {why}"
        case Changed(events):
            return ", ".join(
                f"{event.key} {'was removed' if event.entry is None else f'is of {event.revision}'}" for event in events
            )
        case Answer(LeaseFor(seconds)):
            return f"{seconds} s" if seconds else "no such lease"
        case Answer(TxnDone(succeeded, replies, revision)):
            found = ", ".join(filter(None, map(_found, replies)))
            return f"{'yes' if succeeded else 'no'} at {revision}" + (f": {found}" if found else "")
    return "done"


def _condition(condition: Compare) -> str:
    if not condition.equals:
        return f"{condition.key} is new"
    return f"{condition.key} is {'of' if condition.attribute == 'create' else 'at'} {condition.equals}"


def _operation(operation: Put | Delete | Get) -> str:
    what = operation.key + ("…" if getattr(operation, "end", "") else "")
    return f"{type(operation).__name__.lower()} {what}"


def _found(reply: Written | Found) -> str:
    if isinstance(reply, Written):
        return f"{reply.removed} removed" if reply.removed else ""
    return " ".join(f"{entry.key} of {entry.create}" for entry in reply.entries) or "nothing found"
