"""The core of the file engine: locks in a directory of this machine, held by the kernel alone, without a server."""

from __future__ import annotations

import errno
import os
import threading
from _thread import start_new_thread
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager
from fcntl import LOCK_EX, LOCK_UN, flock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, finalize

from vez.errors import EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.base import Kind, Request
from vez.locks.engines.file import TRAITS, pruning
from vez.locks.engines.file.bell import the_ringer
from vez.locks.engines.file.directory import open_directory
from vez.locks.engines.file.doorway import PATIENCE, enter
from vez.locks.engines.file.holding import FileHolding
from vez.locks.engines.file.locks import LockTicket
from vez.locks.engines.file.mapped_file import Gone, file_name, is_there
from vez.locks.engines.file.place import Place
from vez.locks.engines.file.ticket_file import TicketFile
from vez.locks.engines.file.waiter import ear
from vez.locks.engines.local.core import LocalCore, Unprepared, Waiting
from vez.locks.engines.owners import Claim, running_loop
from vez.locks.engines.wording import busy_doorway

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from vez.locks.engines.base import Break, Inspection, Leader
    from vez.locks.engines.cycles import Holders, Target
    from vez.locks.engines.file.candidates import Candidate
    from vez.locks.engines.file.ears import LoopEar
    from vez.locks.engines.file.graph import Graph
    from vez.locks.engines.file.observers import Observer
    from vez.locks.engines.file.permits import Permit

    Contender = LockTicket | Permit | Candidate

_KINDS: dict[str, type[Contender]] = {"lock": LockTicket}
"""The classes of requests that are loaded."""


def _load_kind(kind: Kind) -> type[Contender]:
    """The class of the requests of a kind."""
    if kind == "semaphore":
        from vez.locks.engines.file.permits import Permit

        return _KINDS.setdefault(kind, Permit)
    from vez.locks.engines.file.candidates import Candidate

    return _KINDS.setdefault(kind, Candidate)


_NOBODY = 0
"""Placeholder owner of observers, which hold nothing."""


class FileCore(LocalCore):
    """The names of one directory. The modules for tasks, observers, inspections, forced releases and the search for
    cycles are imported when they are used, so that a program that only takes a turn starts quickly."""

    traits = TRAITS

    def __init__(self, place: Place) -> None:
        super().__init__(place.url)
        self.place, self.path = place, os.fspath(place.where)
        self._mutex = threading.Lock()
        self._start()

    def _start(self) -> None:
        self.ringer = the_ringer()  # first: without it nothing is left open
        self.directory = open_directory(self.place)
        self._identity = _identity(self.directory)
        self._graph: Graph | None = None
        self._files: OrderedDict[tuple[str, str], TicketFile] = OrderedDict()
        self._files_kept = pruning.files_mapped()
        self._made = 0  # number of files that this process has created
        self._ears: WeakKeyDictionary[AbstractEventLoop, LoopEar] = WeakKeyDictionary()
        self._last_ear: LoopEar | None = None
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
            self._follow()
            if key not in self._files:
                try:
                    found = TicketFile(self.directory, self.path, kind, name)
                except EngineUnavailable as error:
                    self._make_room(error)
                    found = TicketFile(self.directory, self.path, kind, name)
                self._files[key] = found
                if len(self._files) > self._files_kept:
                    self._files.popitem(last=False)[1].close()
                if found.is_new:
                    self._made += 1
                    if self._made % pruning.SWEEP_EVERY == 1:
                        pruning.sweep(self)
            return self._files[key]

    def prepare(self, kind: Kind, name: str) -> None:
        self.file(kind, name)

    def exists(self, kind: str, name: str) -> bool:
        """True if the name was ever used in this directory."""
        self._enter()
        return is_there(self.directory, self.path, file_name(kind, name))

    def _enter(self) -> None:
        """Make sure that the directory is that of this process, and that of its path."""
        self._renew_if_forked()
        self.refuse_if_closed()
        self._follow()

    def _renew_if_forked(self) -> None:
        with handles.gate:  # several threads of a forked child may come at once
            if self.generation != handles.generation:  # a forked child opens its own
                self._mutex = threading.Lock()
                self._start()

    def _make_room(self, error: EngineUnavailable) -> None:
        """Close all files that this process does not use at the moment, if it has too many open; otherwise raise the
        error. The caller holds the mutex."""
        cause = error.__cause__
        if not self._files or not isinstance(cause, OSError) or cause.errno not in (errno.EMFILE, errno.ENFILE):
            raise error
        while self._files:
            self._files.popitem()[1].close()

    def _follow(self) -> None:
        """Open the directory again if its path leads to another one by now: it was renamed, removed or mounted over.
        The descriptor keeps its number, so that a thread that uses it at this moment does not use another file."""
        with handles.gate:
            try:
                there = os.stat(self.path, follow_symlinks=False)
                if (there.st_dev, there.st_ino) == self._identity:
                    return
            except (FileNotFoundError, NotADirectoryError):
                pass  # the directory is created, as at the first use
            except OSError:
                return  # no permission to look
            found = open_directory(self.place)
            try:
                os.dup2(found, self.directory, inheritable=False)
                self._identity = _identity(found)
            finally:
                handles.close_handle(found)

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
                if file.elsewhere() is None:
                    return file, file.handle()
            except Gone:
                pass
            self._forget(file)

    # Taking part

    def enlist(
        self, request: Request, owner: int, patience: float | None, listener: LoopEar | None = None, *, wait: bool,
        kind: type[Contender] | None = None,
    ) -> Contender | None:  # fmt: skip
        made_room = False
        while True:
            if self.generation != handles.generation:
                self._renew_if_forked()
            file = self._files.get((request.kind, request.name)) or self.file(request.kind, request.name)
            contender = (kind or _KINDS.get(request.kind) or _load_kind(request.kind))(
                file, self.ringer, request, owner
            )
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
            except EngineUnavailable as error:
                contender.quit()
                if made_room:  # once only: a second time would close the file that was just opened, and so on for ever
                    raise
                del contender, file
                with self._mutex:
                    self._make_room(error)
                made_room = True
            except BaseException:
                try:
                    contender.quit()
                except BaseException:  # a second interrupt
                    start_new_thread(handles.quietly, (contender.quit,))
                raise

    def enlist_async(self, request: Request, owner: int, *, wait: bool, prepared: bool = False) -> Waiting | None:
        if self.closed:
            self.refuse_if_closed()
        if not prepared and (request.kind, request.name) not in self._files:
            raise Unprepared
        return self.enlist(request, owner, 0, self.loop_ear(), wait=wait)

    def watch_election(self, request: Request, patience: float | None) -> Observer:
        """Enlist an observer: it is rung at each change, elects when a leader has died, and never stands. However short
        its own timeout is, it waits for the doorway as long as other requests do: on a busy machine the doorway may be
        taken for a while without any process being stopped in it."""
        patience = None if patience is None else max(patience, PATIENCE)
        try:
            return self._watch(request, patience, None)
        except BlockingIOError:
            raise busy_doorway(f"election {request.name!r}", patience or 0) from None

    def watch_election_async(self, request: Request) -> Observer:
        """Async version of `watch_election`. Never blocks; raises `BlockingIOError` while the doorway is busy."""
        return self._watch(request, 0, self.loop_ear())

    def _watch(self, request: Request, patience: float | None, listener: LoopEar | None) -> Observer:
        from vez.locks.engines.file.observers import Observer

        observer = self.enlist(request, _NOBODY, patience, listener, wait=True, kind=Observer)
        assert isinstance(observer, Observer), "with wait=True a request is always enlisted"
        return observer

    def loop_ear(self) -> LoopEar:
        """The ear of the running event loop."""
        loop, last = running_loop(), self._last_ear
        if last is not None and last.loop is loop and last.generation == handles.generation:
            return last  # the fast path: every turn of a task passes here
        from asyncio import get_running_loop

        from vez.locks.engines.file.ears import LoopEar

        found = self._ears.get(loop := get_running_loop())
        if found is None or found.generation != handles.generation:
            # An ear keeps its loop alive. The table is copied first: loops of other threads may begin meanwhile.
            for other in [one for known in self._ears.keyrefs() if (one := known()) is not None and one.is_closed()]:
                if (closed := self._ears.pop(other, None)) is not None:
                    closed.close()
            self.refuse_if_closed()  # otherwise nobody would close a new ear
            try:
                found = LoopEar(loop)
            except EngineUnavailable as error:
                with self._mutex:
                    self._make_room(error)
                found = LoopEar(loop)
            self._ears[loop] = found
        self._last_ear = found
        return found

    # Deadlock detection

    @property
    def graph(self) -> Graph:
        """The waits of this directory."""
        if self._graph is None:
            from vez.locks.engines.file.graph import Graph

            self._graph = Graph(self)
        return self._graph

    @property
    def identity(self) -> tuple[int, int]:
        return self._identity

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        return self.graph.holders(target, here, mine)

    def searching(self) -> AbstractContextManager[object]:
        return self.graph.searching()

    def note(self, holding: Claim, target: Target | None) -> None:
        if isinstance(holding, FileHolding):
            holding.waits_for(0 if target is None else self.graph.key_of(target))

    # Inspection

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        from vez.locks.engines.file import inspection

        return inspection.inspect(self, name, kind)

    def is_idle(self, name: str, kind: Kind = "lock") -> bool:
        from vez.locks.engines.file import inspection

        return inspection.idle_page(self, name, kind) is not None

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        self._enter()
        from vez.locks.engines.file import inspection

        return inspection.names(self, prefix, kind)

    def prune(self, prefix: str = "") -> int:
        self._enter()
        return pruning.prune(self, prefix)

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        from vez.locks.engines.file import breaking

        return breaking.break_lock(self, name, reason, kind)

    def memo(self, name: str, kind: Kind = "lock") -> str | None:
        self._enter()
        from vez.locks.engines.file import memos

        return memos.read(self, name, kind)

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        from vez.locks.engines.file import memos

        memos.write(self, name, text, token, kind)

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        from vez.locks.engines.file.observers import observe

        return observe(self, name, seconds)

    def observe_async(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        from vez.locks.engines.file.observers import observe_async

        return observe_async(self, name, seconds)

    def end_waits(self) -> None:
        if self.generation != handles.generation:
            return
        super().end_waits()
        self._last_ear = None
        for listener in list(self._ears.values()):
            listener.close()
        self._ears.clear()

    def close(self) -> None:
        if self.generation != handles.generation:
            return
        self.end_waits()
        if self._unclosed.detach() is None:  # closed already
            return
        if self._graph is not None:
            self._graph.close()
        with self._mutex:
            for file in self._files.values():
                file.close()
            self._files.clear()
            handles.close_handle(self.directory)


def _identity(directory: int) -> tuple[int, int]:
    facts = os.fstat(directory)
    return facts.st_dev, facts.st_ino


def _close(files: OrderedDict[tuple[str, str], TicketFile], directory: int, generation: int) -> None:
    """Close the files and the directory of a client that was never closed."""
    if generation == handles.generation:
        for file in files.values():
            file.close()
        handles.close_handle(directory)
