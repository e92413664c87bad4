"""`vez node`: one participant of an algorithm, as a real process on sockets."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from vez.catalogue.load import load_algorithm
from vez.cli.parameters.completion import complete_algorithm
from vez.cli.parameters.forms import ASSIGNMENT, EDGES
from vez.cli.parameters.numbers import Number
from vez.core.detectors import MONITORS, Settings
from vez.core.topology import TOPOLOGIES
from vez.errors import CannotWrite, Misuse
from vez.worlds.node.conditions import Conditions
from vez.worlds.node.control import json_line
from vez.worlds.node.group import Group, listed_group, load_group
from vez.worlds.node.node import Plan, run_node
from vez.worlds.node.output import Output
from vez.worlds.sim.scenario import Scenario, load
from vez.worlds.sim.setup import Setup

STANDARD_OUTPUT = 1


@click.command(short_help="Run one participant of an algorithm on sockets.")
@click.option("--id", "me", type=int, required=True, metavar="ID", help="The identifier of this node.")
@click.option(
    "--group",
    required=True,
    metavar="FILE|LIST",
    help="All nodes: a group file (TOML), or 1,2,3, or 1=127.0.0.1:7001,2=127.0.0.1:7002.",
)
@click.option("--algorithm", required=True, shell_complete=complete_algorithm, help="A name, or path/to/file.py:Class.")
@click.option("--name", metavar="NAME", help="With a LIST: the name of the group.  [default: vez]")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help="With a LIST: a file of 32 random bytes or more that only you may read. Needed for TCP addresses.",
)
@click.option("--topology", type=click.Choice(sorted(TOPOLOGIES)), help="Topology, if not the algorithm's own.")
@click.option("--edges", type=EDGES, help="Channels of a graph: 1-2,2-3.")
@click.option("--set", "parameters", type=ASSIGNMENT, multiple=True, help="A parameter of the algorithm: lease_ms=5.")
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep durable fields here: a later start recovers from them.  [default: nothing is kept]",
)
@click.option("--amnesia", is_flag=True, help="Recover without the durable fields in --state.")
@click.option("--trace", type=click.Path(path_type=Path), metavar="DIR", help="Write events to a file in this folder.")
@click.option("--control", type=click.Path(path_type=Path), metavar="PATH", help="Take commands from this Unix socket.")
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    help="A scenario file of `vez sim`: parameters, initial fields, and what happens to messages, timers and choices.",
)
@click.option(
    "--resource",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file that stays with a token write to; it refuses a token below the largest so far.",
)
@click.option("--standby", is_flag=True, hidden=True, help="Load everything, then wait for a line of input.")
@click.option("--hold", is_flag=True, help="Connect, but begin only at the command `start`.")
@click.option(
    "--detector",
    type=click.Choice(["none", *MONITORS]),
    default="heartbeat",
    show_default=True,
    help="Failure detector, for algorithms that listen to one.",
)
@click.option("--beat", type=Number(1), default=100, show_default=True, metavar="MS", help="Heartbeat interval.")
@click.option(
    "--suspect-after",
    type=Number(1),
    default=1000,
    show_default=True,
    metavar="MS",
    help="Silence after which a node is suspected.",
)
@click.option(
    "--time-scale",
    type=Number(0.001, 1e6),
    default=1.0,
    show_default=True,
    metavar="X",
    help="The algorithm's timers take X times as long.",
)
def node(me: int, group: str, algorithm: str, **options: Any) -> None:
    """Run the participant --id of --algorithm as a real process that talks to the others over sockets.

    Commands come from standard input or --control, one a line: want [MS], leave, withdraw, elect, status, crash,
    cut PEER, heal PEER, slow PEER MS, suspect PEER, trust PEER, stop. What happens is printed as JSON lines. The end of
    the input ends the node.

    With a list of identifiers the nodes meet at Unix sockets in a directory that only you may enter. TCP on loopback
    needs --key-file; other hosts need a group file with certificates.

    \b
      vez node --id 1 --group 1,2,3 --algorithm lamport
      vez node --id 2 --group demo.toml --algorithm bully
    """
    members = read_group(group, options["name"], options["key_file"])
    output = Output(STANDARD_OUTPUT)
    if options["standby"]:
        load_algorithm(algorithm)
        output.line(json_line({"event": "standby", "node": me}))
        line = sys.stdin.buffer.readline()  # in the same way as commands: a text stream would read ahead
        if not line:  # the process that started this node is gone
            return
        options["amnesia"] = b"--amnesia" in line
    try:
        run_node(make_plan(members, me, algorithm, options), lambda what: output.line(json_line(what)))
    finally:
        output.close()


def read_group(text: str, name: str | None, key_file: Path | None) -> Group:
    """A group from a file or a list."""
    path = Path(text)
    if path.suffix == ".toml" or path.is_file():
        if name is not None or key_file is not None:
            raise Misuse("--name and --key-file are for a list of nodes", hint="say both in the group file")
        return load_group(path)
    return listed_group(text, name or "vez", runtime_directory() / (name or "vez"), key_file)


def runtime_directory() -> Path:
    """The directory of the Unix sockets of this user's groups."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    user = os.getuid() if hasattr(os, "getuid") else 0
    if given:
        return Path(given) / "vez-nodes"
    import tempfile

    return Path(tempfile.gettempdir()) / f"vez-nodes-{user}"


def _make(folder: Path) -> None:
    """Make a folder for files that only their owner may read."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"cannot make the folder {folder}: {error.strerror}") from error


def make_plan(members: Group, me: int, name: str, options: dict[str, Any]) -> Plan:
    """Check the options as a scenario is checked, and return the plan with which the node is started."""
    if me not in members.addresses:
        raise Misuse(f"--id {me} is not in the group", hint=f"nodes: {', '.join(map(str, members.ids))}")
    if options["amnesia"] and options["state"] is None:
        raise Misuse("--amnesia has no effect without --state", hint="add --state, or leave --amnesia out")
    setup = Setup(_scenario(members, name, options), load_algorithm(name))
    for folder in (options["state"], options["trace"]):
        if folder is not None:
            _make(folder)
    settings = Settings(
        interval_ms=options["beat"],
        timeout_ms=options["suspect_after"],
        step_ms=options["suspect_after"] / 2,
    )
    return Plan(
        group=members,
        me=me,
        algorithm=name,
        topology=setup.topology,
        fresh=lambda: setup.process(me),
        state=options["state"],
        journal=options["trace"],
        control=options["control"],
        memory=not options["amnesia"],
        hold=options["hold"],
        detector=options["detector"],
        detector_settings=settings,
        time_scale=options["time_scale"],
        resource=options["resource"],
        conditions=None if options["scenario"] is None else _conditions(setup, me, options),
    )


def _scenario(members: Group, name: str, options: dict[str, Any]) -> Scenario:
    """The scenario of the options and the scenario file."""
    given = Scenario(algorithm=name) if options["scenario"] is None else load(options["scenario"])
    if given.algorithm != name and not name.partition(":")[0].endswith(".py"):
        raise Misuse(f"the scenario is about {given.algorithm}, not {name}", hint="give its --algorithm")
    return given.but(
        algorithm=name,
        n=None,
        ids=members.ids,
        topology=options["topology"] or given.topology,
        edges=options["edges"] or given.edges,
        parameters=given.parameters | dict(options["parameters"]),
    )


def _conditions(setup: Setup, me: int, options: dict[str, Any]) -> Conditions:
    from vez.worlds.node.cluster.scripted import Earlier, Scripted

    earlier = Earlier(options["trace"], me) if options["state"] else Earlier()
    return Scripted(setup, me, options["time_scale"], earlier)
