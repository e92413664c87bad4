"""The file engine: turns kept in a directory of this machine, by the kernel and nobody else."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from urllib.parse import quote
from weakref import WeakKeyDictionary, finalize

from vez.engines import handles
from vez.engines.base import Break, Inspection, Kind, Leader, Request
from vez.engines.file import breaking, inspection
from vez.engines.file.bell import the_ringer
from vez.engines.file.candidates import Candidate
from vez.engines.file.directory import open_directory
from vez.engines.file.doorway import busy_doorway, enter
from vez.engines.file.ears import LoopEar
from vez.engines.file.graph import Graph
from vez.engines.file.holding import FileHolding
from vez.engines.file.layout import FREE
from vez.engines.file.locks import LockTicket
from vez.engines.file.mapped_file import Gone, file_name
from vez.engines.file.observers import Observer, observe, observe_async
from vez.engines.file.permits import Permit
from vez.engines.file.ticket import Ticket
from vez.engines.file.ticket_file import TicketFile
from vez.engines.file.waiter import ear
from vez.engines.local import LocalEngine, Waiting
from vez.engines.owners import NOBODY, Owner

Contender = LockTicket | Permit | Candidate
_KINDS: dict[str, type[Contender]] = {"lock": LockTicket, "semaphore": Permit, "election": Candidate}


def _files_kept() -> int:
    """How many names' files stay mapped while this process does not use them. Each needs two descriptors, so this is a
    quarter of what the process may open."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 4096 if allowed == resource.RLIM_INFINITY else max(32, min(4096, allowed // 8))


class FileEngine(LocalEngine):
    """The names of one directory."""

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
        self.generation = handles.generation  # last: a thread that sees it may use the rest

    def file(self, kind: str, name: str) -> TicketFile:
        """The file of a name; opened at the first use."""
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
        """True if the name was ever used in this directory."""
        self._renew_if_forked()
        self.refuse_if_closed()
        return os.access(file_name(kind, name), os.F_OK, dir_fd=self.directory, follow_symlinks=False)

    def _renew_if_forked(self) -> None:
        with handles.gate:  # several threads of a forked child may come at once
            if self.generation != handles.generation:  # a forked child starts anew
                self._mutex = threading.Lock()
                self._start()

    def _forget(self, file: TicketFile) -> None:
        with self._mutex:
            if self._files.get((file.kind, file.name)) is file:
                del self._files[file.kind, file.name]
        file.close()

    def opened(self, kind: str, name: str) -> tuple[TicketFile, int]:
        """The file of a name and a descriptor for the caller, to be given back with `file.give_back`."""
        while True:
            file = self.file(kind, name)
            try:
                return file, file.handle()
            except Gone:
                self._forget(file)

    # Taking part

    def enlist(
        self, request: Request, owner: Owner, patience: float | None, listener: LoopEar | None = None, *, wait: bool,
        kind: type[Contender] | None = None,
    ) -> Contender | None:  # fmt: skip
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
        """Enlist an observer: rung at each change, elects when a leader has died, never stands."""
        try:
            return self._watch(request, patience, None)
        except BlockingIOError:
            raise busy_doorway(f"election {request.name!r}", patience or 0) from None

    def watch_election_async(self, request: Request) -> Observer:
        """Async version of `watch_election`: never blocks, `BlockingIOError` while the doorway is busy."""
        return self._watch(request, 0, self.loop_ear())

    def _watch(self, request: Request, patience: float | None, listener: LoopEar | None) -> Observer:
        observer = self.enlist(request, NOBODY, patience, listener, wait=True, kind=Observer)
        assert isinstance(observer, Observer), "with wait=True a request is always enlisted"
        return observer

    def loop_ear(self) -> LoopEar:
        """The ear of the running event loop."""
        loop = asyncio.get_running_loop()
        found = self._ears.get(loop)
        if found is None or found.generation != handles.generation:
            # An ear keeps its loop alive. The table is copied first: loops of other threads may begin meanwhile.
            for other in [one for known in self._ears.keyrefs() if (one := known()) is not None and one.is_closed()]:
                if (closed := self._ears.pop(other, None)) is not None:
                    closed.close()
            found = self._ears[loop] = LoopEar(loop)
        return found

    def before_waiting(self, waiting: Waiting, owner: Owner) -> bool:
        if isinstance(waiting, Ticket) and (held := self._held_here(owner)):
            return self.graph.refuse_cycle(waiting, owner, held)
        return True

    def after_waiting(self, waiting: Waiting, owner: Owner) -> None:
        for holding in self._held_here(owner):
            holding.waits_for(0)

    def _held_here(self, owner: Owner) -> list[FileHolding]:
        return [
            holding
            for engine, holding in owner.holdings()
            if isinstance(engine, FileEngine) and engine.path == self.path and isinstance(holding, FileHolding)
        ]

    # Looking

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        return inspection.inspect(self, name, kind)

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        self._renew_if_forked()
        self.refuse_if_closed()
        return inspection.names(self, prefix, kind)

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
    """Close what a client that was never closed has left open."""
    if generation == handles.generation:
        for file in files.values():
            file.close()
        handles.close_handle(directory)
