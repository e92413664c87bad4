"""The workers of a campaign, the fork servers that start them, and the chosen faults that are possible here."""

from __future__ import annotations

import os
import random
from pathlib import Path

from vez.locks.engines import open_engine
from vez.testing.torture.containers import CONTAINERS, OUTSIDE, Container, Shared, entering, refusal, small_disk
from vez.testing.torture.controls import Controls, monotonic_offset
from vez.testing.torture.fork_server import Child, ForkServer
from vez.testing.torture.inner_faults import files_of
from vez.testing.torture.plan import FaultKind, Plan
from vez.testing.torture.record import read_lines
from vez.testing.torture.relay import Relay
from vez.testing.torture.stays import FRESH

FILES_ONLY: tuple[FaultKind, ...] = ("container", "disk", "fsync")
"""Faults that need the directory of the file engine."""
_CONTAINED = 0.5
"""Probability that a worker is started in a container, if there are any."""
_AHEAD = (100, 10_000_000)
"""Smallest and largest number of seconds by which the monotonic clock of a time namespace is ahead."""


class Crew:
    """The workers, by number."""

    def __init__(self, plan: Plan, folder: Path, chance: random.Random, seconds: float) -> None:
        self.plan, self.folder, self.chance, self._seconds = plan, folder, chance, seconds
        self.workers: dict[int, Child] = {}
        self.skipped: dict[str, str] = {}
        self.contained: dict[str, int] = {}
        """Workers that were started in each kind of container."""
        self._starts = 0
        self._fork_servers: list[ForkServer] = []
        """The first sees the engine as the campaign does, the others are containers."""
        self.has_files = False
        """True if it is the engine of files, whose directory can be mounted elsewhere."""
        self.shared = Shared(folder, folder)
        self.controls = Controls(folder / "controls")
        self.controls.origin, self.controls.workers = monotonic_offset(), plan.workers
        self.relay = Relay(folder, plan.workers)

    lease_seconds = 0.0
    """Seconds until the lock of a killed worker is free; 0 if it is free at once."""

    def open(self) -> None:
        """Start the fork servers, and find out which faults are possible."""
        plan = self.plan
        engine = open_engine(plan.url)  # a wrong URL should fail here, not in many workers
        engine.close()
        self.lease_seconds = engine.traits.lease_seconds or 0.0
        files = files_of(engine)
        if files is None:
            self._skip(FILES_ONLY, "only the engine file: has a directory")
        else:
            query = "?" + plan.url.partition("?")[2] if "?" in plan.url else ""
            self.shared = Shared(self.folder, Path(files.path), query)
        self.has_files = files is not None
        self._open_base()
        for container in self._possible_containers():
            self._fork_servers.append(self._fork_server(self.shared.command(container), container))
        (self.folder / "faults").write_text(" ".join(self.faults))
        (self.folder / "kinds").write_text(" ".join(plan.kinds))

    @property
    def faults(self) -> tuple[FaultKind, ...]:
        """The chosen faults that are possible here."""
        return tuple(fault for fault in self.plan.faults if fault not in self.skipped)

    def _skip(self, faults: tuple[FaultKind, ...], why: str) -> None:
        self.skipped.update({fault: why for fault in faults if fault in self.plan.faults})

    def _open_base(self) -> None:
        """Start the fork server outside containers. Its directory may be replaced by a small disk."""
        before = small_disk(self.shared.directory)
        if "disk" in self.faults and (why := refusal(before)) is not None:
            self._skip(("disk",), why)
        if "disk" not in self.faults:
            self._fork_servers.append(self._fork_server([], None))
            return
        self._fork_servers.append(self._fork_server(before, OUTSIDE))
        self.base.job("free")  # it has answered, so the disk is mounted
        self.shared = self.shared._replace(enter=entering(self.base.pid))

    @property
    def base(self) -> ForkServer:
        """The fork server of workers outside containers."""
        return self._fork_servers[0]

    def _possible_containers(self) -> list[Container]:
        possible: list[Container] = []
        for container in CONTAINERS if "container" in self.faults else ():
            if (why := refusal(self.shared.command(container))) is None:
                possible.append(container)
            else:
                self.skipped[f"container ({container.name})"] = why
        if not possible and "container" in self.faults:
            self._skip(("container",), self.skipped[f"container ({CONTAINERS[0].name})"])
        if "clock" in self.faults:
            ahead = Container("clock", ahead=self.chance.randint(*_AHEAD))
            if (why := refusal(self.shared.command(ahead))) is None:
                possible.append(ahead)
            else:
                self.skipped["clock (monotonic)"] = why
        return possible

    def _fork_server(self, before: list[str], container: Container | None) -> ForkServer:
        """Start a fork server. Without a container it gets the URL as it was given, which may depend on the user."""
        url = self.plan.url if container is None or not self.has_files else self.shared.url(container)
        name = "" if container is None or container == OUTSIDE else container.name
        return ForkServer(self.folder, url, self.plan.name, self._seconds, before, name)

    def start(self, worker: int) -> Child:
        """Start a worker, in a container or not."""
        self._starts += 1
        server = self.base
        if len(self._fork_servers) > 1 and self.chance.random() < _CONTAINED:
            server = self.chance.choice(self._fork_servers[1:])
            self.contained[server.container] = self.contained.get(server.container, 0) + 1
        seed = f"{self.plan.seed}-{worker}-{self._starts}"
        self.workers[worker] = server.start(worker, seed)
        return self.workers[worker]

    def record_size(self, worker: int) -> int:
        """Bytes that a worker has recorded."""
        path = self.folder / f"{worker}.jsonl"
        return os.stat(path).st_size if path.exists() else 0

    def entries(self, worker: int) -> int:
        """Number of grants, estimated from the size of the record, which is cheap and accurate enough."""
        return self.record_size(worker) // 230

    def granted_since(self, worker: int, size: int) -> set[bool]:
        """The kinds of names that a worker was granted since its record had that size: True for a seldom used name,
        False for another one."""
        found = read_lines(self.folder / f"{worker}.jsonl", size)
        return {line.name.startswith(FRESH) for line in found if line.what == "entered"}

    def close(self) -> None:
        """End the fork servers, the containers first."""
        for server in reversed(self._fork_servers):
            server.close()
        self.relay.close()
