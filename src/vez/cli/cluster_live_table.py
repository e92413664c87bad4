"""The live table of `vez cluster`: waiting processes, processes inside, messages, leaders and suspicions."""

from __future__ import annotations

from rich.table import Table

from vez.cli.cluster_keys import Keys
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.node.cluster.member import Member

_STYLES = {"inside": "bold green", "waiting": "yellow", "dead": "red", "paused": "magenta", "starting": "dim"}


class ClusterView:
    """A table of the members."""

    def table(self, running: Cluster, keys: Keys | None) -> Table:
        """The current state of the members, and the help for the keys."""
        election = running.setup.algorithm.role == "election"
        table = Table(title=f"{running.setup.scenario.algorithm}, real processes", title_justify="left")
        for column in ("node", "state", *(["leader"] if election else ["entries"]), "sent", "received", "suspects"):
            table.add_column(column, justify="left" if column in ("state", "suspects") else "right")
        for member in running.members.values():
            state = _state(running, member)
            status = member.status
            leader = running.leaders.get(member.me)
            last = ("" if leader is None else str(leader)) if election else str(status.get("entries", ""))
            table.add_row(
                str(member.me),
                f"[{_STYLES.get(state, 'default')}]{state}[/]",
                last,
                str(status.get("sent", "")),
                str(status.get("received", "")),
                ", ".join(map(str, sorted(member.suspected))),
            )
        lines = [
            f"{word}: " + ", ".join(f"{one}→{other}" for one, other in sorted(channels))
            for word, channels in (("cut", running.cuts), ("slow", running.slowed))
            if channels
        ]
        lines += [keys.words, keys.help] if keys is not None else []
        table.caption, table.caption_justify = "\n".join(lines), "left"
        return table


def _state(running: Cluster, member: Member) -> str:
    if not member.is_alive:
        return "dead"
    if member.is_stopped:
        return "paused"
    if not (member.is_ready and running.has_begun):
        return "starting"
    state = running.inside.get(member.me, "")
    return "" if state == "planned" else state


def in_short(running: Cluster) -> str:
    """The state of the run in a few words, for people without a terminal."""
    members = running.members.values()
    if not running.has_begun:
        return f"{sum(member.is_ready for member in members)} of {len(members)} nodes started"
    received = sum(member.status.get("received", 0) for member in members)
    alive = sum(member.is_alive for member in members)
    states = list(running.inside.values())
    asks = f", {states.count('waiting')} waiting, {states.count('inside')} inside" if states else ""
    return f"{alive} of {len(members)} nodes alive{asks}, {received:,} messages received"
