"""The file engine: turns kept in a directory of this machine, by the kernel and nobody else."""

from __future__ import annotations

import asyncio
import os
import resource
import struct
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from urllib.parse import quote, unquote
from weakref import WeakKeyDictionary, finalize

from vez.engines import handles
from vez.engines.base import Break, Inspection, Kind, Leader, Request
from vez.engines.file import breaking
from vez.engines.file.bell import the_ringer
from vez.engines.file.contender import Contender, contestant
from vez.engines.file.directory import directory_of, open_directory
from vez.engines.file.ears import LoopEar
from vez.engines.file.elections import Candidate, Observer, leader_now, leads, observe, observe_async
from vez.engines.file.graph import Graph
from vez.engines.file.layout import (
    COUNTER,
    COUNTER_AT,
    FREE,
    HELD,
    IDENTITY,
    IDENTITY_AT,
    LEAVING,
    MEAN,
    MEAN_AT,
    REVOKED_AT,
    WAITING,
    WAITS,
)
from vez.engines.file.permits import Permit
from vez.engines.file.tickets import Gone, TicketFile, busy_doorway, enter, file_name
from vez.engines.file.waiting import FileContender, ear
from vez.engines.local import LocalEngine, Waiting
from vez.engines.owners import NOBODY, Owner
from vez.errors import EngineUnavailable


def _files_kept() -> int:
    """Names whose files stay mapped when nobody in this process uses them; with two descriptors each, a quarter of what
    the process may open."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 4096 if allowed == resource.RLIM_INFINITY else max(32, min(4096, allowed // 8))


def open_engine(url: str) -> FileEngine:
    """The engine of a `file:` URL."""
    return FileEngine(directory_of(url))


class FileEngine(LocalEngine):
    """One directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"file://{quote(str(path))}")
        self.path = path
        self._mutex = threading.Lock()
        self._start()

    def _start(self) -> None:
        self.directory = open_directory(self.path)
        self.ringer = the_ringer()
        self.graph = Graph(self)
        self._files: OrderedDict[tuple[str, str], TicketFile] = OrderedDict()
        self._files_kept = _files_kept()
        self._ears: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopEar] = WeakKeyDictionary()
        self._unclosed = finalize(self, _close, self._files, self.directory, handles.generation)
        self._unclosed.atexit = False
        self.generation = handles.generation  # last: whoever sees it may use the rest

    def file(self, kind: str, name: str) -> TicketFile:
        """The file of a name, opened once."""
        if self.generation != handles.generation:
            self._renew_if_forked()
        key = (kind, name)
        found = self._files.get(key)
        if found is not None:
            return found
        with self._mutex:
            self.refuse_if_closed()
            if key not in self._files:
                self._files[key] = TicketFile(self.directory, str(self.path), kind, name)
                if len(self._files) > self._files_kept:
                    self._files.popitem(last=False)[1].close()
            return self._files[key]

    def exists(self, kind: str, name: str) -> bool:
        """Whether the name was ever used here."""
        self._renew_if_forked()
        self.refuse_if_closed()
        return os.access(file_name(kind, name), os.F_OK, dir_fd=self.directory, follow_symlinks=False)

    def _renew_if_forked(self) -> None:
        with handles.gate:  # many threads of a forked child may come at once
            if self.generation != handles.generation:  # it starts anew
                self._mutex = threading.Lock()
                self._start()

    def _forget(self, file: TicketFile) -> None:
        with self._mutex:
            if self._files.get((file.kind, file.name)) is file:
                del self._files[file.kind, file.name]
        file.close()

    def opened(self, kind: str, name: str) -> tuple[TicketFile, int]:
        """The file of a name with a descriptor of one's own, to be given back."""
        while True:
            file = self.file(kind, name)
            try:
                return file, file.handle()
            except Gone:
                self._forget(file)

    # Taking part

    def enlist(
        self, request: Request, owner: Owner, patience: float | None, listener: LoopEar | None = None, *, wait: bool,
        kind: type[FileContender] | None = None,
    ) -> FileContender | None:  # fmt: skip
        while True:
            if self.generation != handles.generation:
                self._renew_if_forked()
            file = self._files.get((request.kind, request.name)) or self.file(request.kind, request.name)
            contender = (kind or _KINDS[request.kind])(file, self.ringer, request, owner)
            contender.ear = listener
            try:
                try:
                    contender.handle = file.pool.pop()
                except IndexError:
                    contender.handle = file.handle()
                handle = contender.handle
                try:
                    if patience is None:
                        flock(handle, LOCK_EX)
                    else:
                        enter(handle, patience)
                    if listener is None:
                        enlisted = contender.enlist(None, ear if wait else None)
                    else:
                        enlisted = contender.enlist(listener.bell, listener if wait else None)
                finally:
                    flock(handle, LOCK_UN)
                if enlisted:
                    return contender
                contender.give_back()
                return None
            except BlockingIOError:
                contender.give_back()
                raise
            except Gone:
                contender.abandon()
                self._forget(file)
            except BaseException:
                if contender.state != FREE:
                    contender.release()
                else:
                    contender.abandon()
                raise

    def enlist_async(self, request: Request, owner: Owner, *, wait: bool) -> Waiting | None:
        return self.enlist(request, owner, 0, self.loop_ear(), wait=wait)

    def watch_election(self, request: Request, patience: float | None) -> Observer:
        """Enlist an observer, who is rung at each change and elects when a leader has died, but never stands."""
        try:
            return self._watch(request, patience, None)
        except BlockingIOError:
            raise busy_doorway(f"election {request.name!r}", patience or 0) from None

    def watch_election_async(self, request: Request) -> Observer:
        """The same for a task: `BlockingIOError` while the doorway is busy."""
        return self._watch(request, 0, self.loop_ear())

    def _watch(self, request: Request, patience: float | None, listener: LoopEar | None) -> Observer:
        observer = self.enlist(request, NOBODY, patience, listener, wait=True, kind=Observer)
        assert isinstance(observer, Observer), "whoever waits is enlisted"
        return observer

    def loop_ear(self) -> LoopEar:
        """What this event loop listens with."""
        loop = asyncio.get_running_loop()
        found = self._ears.get(loop)
        if found is None or found.generation != handles.generation:
            for other in [one for one in self._ears if one.is_closed()]:  # an ear keeps its loop alive
                self._ears.pop(other).close()
            found = self._ears[loop] = LoopEar(loop)
        return found

    def before_waiting(self, waiting: Waiting, owner: Owner) -> bool:
        if isinstance(waiting, Contender) and (held := self._held_here(owner)):
            return self.graph.refuse_cycle(waiting, owner, held)
        return True

    def after_waiting(self, waiting: Waiting, owner: Owner) -> None:
        for holding in self._held_here(owner):
            holding.waits_for(0)

    def _held_here(self, owner: Owner) -> list[Contender]:
        return [
            holding
            for engine, holding in owner.holdings()
            if isinstance(engine, FileEngine) and engine.path == self.path and isinstance(holding, Contender)
        ]

    # Looking

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        if not self.exists(kind, name):
            return Inspection(name, kind, 1, (), (), 0)
        file, handle = self.opened(kind, name)
        try:
            file.look_around(handle)
            living = [slot for _, slot in file.living(handle) if slot.state != LEAVING]
            upcoming = COUNTER.unpack_from(file.map, COUNTER_AT)[0]
            mean = MEAN.unpack_from(file.map, MEAN_AT)[0]
            limit = file.limit()
            revoked = WAITS.unpack_from(file.map, REVOKED_AT)[0]
            leader, term = leader_now(file, handle) if kind == "election" else (0, 0)
        finally:
            file.give_back(handle)
        if kind == "election":
            inside = [contestant(slot, lost=term < revoked, term=term) for slot in living if leads(slot, leader)]
        else:
            inside = [contestant(slot, lost=slot.ticket < revoked) for slot in living if slot.state == HELD]
        waiting = [slot for slot in living if slot.state == WAITING and (kind != "election" or slot.ticket != leader)]
        return Inspection(
            name=name,
            kind=kind,
            limit=limit,
            holders=tuple(inside),
            queue=tuple(map(contestant, waiting)),
            last_token=upcoming - 1,
            mean_hold_seconds=mean or None,
            breaks=tuple(record for record in breaking.records(self) if (record.name, record.kind) == (name, kind)),
        )

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        self._renew_if_forked()
        self.refuse_if_closed()
        found = []
        for entry in _entries(self.directory, self.path):
            start, _, rest = entry.partition(".")
            if start == kind and entry.isascii():  # another is none of ours
                found.append(unquote(rest) if "~" not in rest else _name_inside(self.directory, entry))
        return sorted(name for name in found if name.startswith(prefix))

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        return breaking.break_lock(self, name, reason, kind)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        return observe(self, name, seconds)

    def observe_async(self, name: str) -> AsyncIterator[Leader | None]:
        return observe_async(self, name)

    def close(self) -> None:
        if self.generation != handles.generation or self.closed:
            return
        self.leave_all()
        self._unclosed.detach()
        with self._mutex:
            for file in self._files.values():
                file.close()
            self._files.clear()
            handles.close_handle(self.directory)
        for listener in self._ears.values():
            listener.close()
        self._ears.clear()


def _close(files: OrderedDict[tuple[str, str], TicketFile], directory: int, generation: int) -> None:
    """What a client that nobody closed leaves open."""
    if generation == handles.generation:
        for file in files.values():
            file.close()
        handles.close_handle(directory)


_KINDS: dict[str, type[FileContender]] = {"lock": FileContender, "semaphore": Permit, "election": Candidate}


def _entries(directory: int, path: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError as error:
        raise EngineUnavailable(f"cannot read {path}: {error.strerror}") from error


def _name_inside(directory: int, entry: str) -> str:
    """The whole name of a file whose own name was cut."""
    try:
        handle = handles.open_handle(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, directory=directory)
    except OSError:
        return unquote(entry.partition(".")[2])  # whoever looks into it is told what is wrong
    try:
        raw = os.pread(handle, 1024, IDENTITY_AT)
        _, length = IDENTITY.unpack_from(raw, 0)
        return raw[IDENTITY.size : IDENTITY.size + length].decode(errors="replace")
    except (OSError, struct.error):
        return unquote(entry.partition(".")[2])
    finally:
        handles.close_handle(handle)
