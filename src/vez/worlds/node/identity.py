"""Identity: the settings that must be equal on all nodes of a group. Nodes refuse peers with other settings."""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import Any

import msgspec

from vez.core.message import plain_values
from vez.core.process import PARAMETER, Process, handlers_of, marked
from vez.core.topology import Topology

PROTOCOL = 1
"""Version of frames and handshake. Nodes of different versions refuse each other."""


class Identity(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The settings of the group with which a node was started. Parameters are JSON texts by name."""

    group: str
    algorithm: str
    ids: tuple[int, ...]
    topology: str
    edges: tuple[tuple[int, int], ...]
    parameters: dict[str, str]
    messages: str
    """A hash of the kinds of messages and of the types of their fields."""
    time_scale: float

    def difference(self, other: Identity, me: int, peer: int) -> str:
        """The first difference between two identities, in words; empty if there is none.

        The text names both nodes, because both print it.
        """
        for name in ("group", "algorithm", "ids", "topology", "edges", "time_scale"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                what = f"{name.replace('_', ' ')} {'are' if name.endswith('s') else 'is'}"
                return f"{what} {_shown(mine)} at node {me} and {_shown(theirs)} at node {peer}"
        for name in sorted(self.parameters.keys() | other.parameters.keys()):
            mine, theirs = self.parameters.get(name, "missing"), other.parameters.get(name, "missing")
            if mine != theirs:
                return f"parameter {_shown(name)} is {_shown(mine)} at node {me} and {_shown(theirs)} at node {peer}"
        if self.messages != other.messages:
            return f"the messages of the algorithm have other fields at node {peer} than at node {me}"
        return ""


def make_identity(
    group: str, algorithm: str, topology: Topology, process: Process, *, time_scale: float = 1.0
) -> Identity:
    """The identity of a node that runs this process."""
    kind = type(process)
    values = plain_values({name: getattr(process, name) for name in marked(kind, PARAMETER)})
    return Identity(
        group=group,
        algorithm=without_folder(algorithm),
        ids=topology.ids,
        topology=topology.name,
        edges=topology.edges() if topology.name in ("graph", "grid") else (),
        parameters={name: msgspec.json.encode(value, order="deterministic").decode() for name, value in values.items()},
        messages=_schema(kind),
        time_scale=time_scale,
    )


def without_folder(algorithm: str) -> str:
    """The name of an algorithm, without the folder if it is a file: the folder may differ between hosts."""
    file, colon, name = algorithm.rpartition(":")
    return f"{PurePath(file).name}:{name}" if colon and file.endswith(".py") else algorithm


def _schema(kind: type[Process]) -> str:
    fields: dict[str, Any] = {
        name: [(field.encode_name, str(field.type)) for field in msgspec.structs.fields(kind.message)]
        for name, kind in handlers_of(kind).kinds.items()
    }
    return hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()[:16]


def _shown(value: object) -> str:
    """A value for one line of a log, shortened, and with control characters escaped, because a stranger may have sent
    it."""
    text = value if isinstance(value, str) and value.isprintable() else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
