"""Threads: all interleavings of a program of threads, by the same breadth-first search for the shortest run.

A thread's state is where its generator stands: the instruction and the local variables. A generator cannot be
copied, so from a state it is brought back by feeding a new one the results that led there; that happens once
for each (state, result), then it is remembered.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator, Mapping
from typing import Any, NamedTuple

from vez.errors import Misuse, ProtocolBug, VezError
from vez.sim.blame import blame_function
from vez.threads.operations import (
    Acquire,
    Add,
    Condition,
    Get,
    Lock,
    Notify,
    NotifyAll,
    Operation,
    Program,
    Put,
    Queue,
    Read,
    Release,
    Wait,
    Write,
)

_NEEDS: dict[type, tuple[type, ...]] = {
    Lock: (Acquire, Release),
    Condition: (Wait, Notify, NotifyAll),
    Queue: (Put, Get),
}
ENDED = -1
ASLEEP, AWAKE = "asleep", "awake"


class Moment(NamedTuple):
    """A global state: where each thread stands, and the shared objects."""

    threads: tuple[int, ...]
    sleep: tuple[str, ...]  # of each thread: "", or ASLEEP on a condition, or AWAKE and in need of its lock
    memory: tuple[Any, ...]


class Turn(NamedTuple):
    """One thread does one thing."""

    thread: int
    words: str
    after: Moment


class Place(NamedTuple):
    """Where a thread stands: what it wants to do next, and the results that led there."""

    operation: Operation
    results: tuple[Any, ...]


class Threads:
    """The interleavings of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = tuple(program.threads)
        self.objects = tuple(program.shared)
        self._where = {name: place for place, name in enumerate(self.objects)}
        self._places: list[list[Place]] = [[] for _ in self.names]
        self._known: list[dict[Any, int]] = [{} for _ in self.names]
        self._next: dict[tuple[int, int, Any], int] = {}
        if not self.names:
            raise Misuse("a program needs at least one thread")
        for name in self.objects:
            kind = program.shared[name]
            _must_stay(kind, f"{name} is {kind!r}")
            if isinstance(kind, Condition) and not isinstance(program.shared.get(kind.lock), Lock):
                raise Misuse(f"condition {name!r} belongs to {kind.lock!r}, which is not a lock")

    def initial(self) -> Moment:
        """The state before the first step."""
        memory = tuple(_first_value(self.program.shared[name]) for name in self.objects)
        starts = tuple(self._stand(thread, ()) for thread in range(len(self.names)))
        return Moment(starts, ("",) * len(self.names), memory)

    def turns(self, moment: Moment) -> Iterator[Turn]:
        """Possible steps of the threads; a blocked thread has none."""
        for thread, place in enumerate(moment.threads):
            if place == ENDED or moment.sleep[thread] == ASLEEP:
                continue
            operation = self._places[thread][place].operation
            if moment.sleep[thread] == AWAKE:
                yield from self._retake(moment, thread, operation)
            else:
                yield from self._turn(moment, thread, place, operation)

    def memory(self, moment: Moment) -> Mapping[str, Any]:
        """The variables, and the contents of queues."""
        return dict(zip(self.objects, moment.memory, strict=True))

    def waits_for(self, moment: Moment) -> dict[str, tuple[str, str]]:
        """Of each blocked thread: what it waits for, and who has it (or nobody)."""
        found = {}
        for thread, place in enumerate(moment.threads):
            if place == ENDED:
                continue
            operation = self._places[thread][place].operation
            if moment.sleep[thread] == ASLEEP:
                found[self.names[thread]] = (operation.name, "")
                continue
            awake = moment.sleep[thread] == AWAKE
            name = self._lock_of(operation) if awake or isinstance(operation, Acquire) else operation.name
            held = moment.memory[self._where[name]] if isinstance(self.program.shared[name], Lock) else None
            if isinstance(operation, Acquire | Put | Get) or awake:
                found[self.names[thread]] = (name, self.names[held] if isinstance(held, int) else "")
        return found

    # One turn.

    def _turn(self, moment: Moment, thread: int, place: int, operation: Operation) -> Iterator[Turn]:
        at = self._where[operation.name]
        value, words = moment.memory[at], operation.words()
        result: Any = None
        match operation:
            case Read():
                result, words = value, f"{words}: {value}"
            case Write():
                value = operation.value
            case Add():
                value = result = self._sum(thread, value, operation)
            case Acquire():
                if value is not None:
                    return
                value = thread
            case Release():
                self._must_hold(value, thread, operation.name)
                value = None
            case Put():
                capacity = self.program.shared[operation.name].capacity
                if capacity and len(value) == capacity:
                    return
                value = (*value, operation.value)
            case Get():
                if not value:
                    return
                result, value = value[0], value[1:]
                words = f"{words}: {result}"
            case Wait():
                yield self._sleep(moment, thread, operation)
                return
            case Notify() | NotifyAll():
                yield from self._wake(moment, thread, place, operation)
                return
        memory = _with(moment.memory, at, value)
        yield Turn(thread, words, self._go_on(moment._replace(memory=memory), thread, place, result))

    def _sum(self, thread: int, value: Any, operation: Add) -> Any:
        try:
            return value + operation.amount
        except TypeError as error:
            words = f"{self.names[thread]} adds {operation.amount!r} to {operation.name}, which is {value!r}"
            raise ProtocolBug(words, hint="add to a number") from error

    def _sleep(self, moment: Moment, thread: int, operation: Operation) -> Turn:
        lock = self._where[self._lock_of(operation)]
        self._must_hold(moment.memory[lock], thread, self._lock_of(operation))
        memory = _with(moment.memory, lock, None)
        queue = self._where[operation.name]
        memory = _with(memory, queue, (*memory[queue], thread))
        after = Moment(moment.threads, _with(moment.sleep, thread, ASLEEP), memory)
        return Turn(thread, f"wait on {operation.name}, asleep", after)

    def _wake(self, moment: Moment, thread: int, place: int, operation: Operation) -> Iterator[Turn]:
        at = self._where[operation.name]
        sleepers: tuple[int, ...] = moment.memory[at]
        if isinstance(operation, NotifyAll) or not sleepers:
            groups = [sleepers]
        else:
            groups = [(sleeper,) for sleeper in sleepers]  # which one is not promised
        for group in groups:
            sleep, memory = moment.sleep, moment.memory
            for sleeper in group:
                sleep = _with(sleep, sleeper, AWAKE)
            memory = _with(memory, at, tuple(one for one in sleepers if one not in group))
            names = ", ".join(self.names[sleeper] for sleeper in group) or "nobody waits"
            after = self._go_on(Moment(moment.threads, sleep, memory), thread, place, None)
            yield Turn(thread, f"{operation.words()}: {names}", after)

    def _retake(self, moment: Moment, thread: int, operation: Operation) -> Iterator[Turn]:
        lock = self._where[self._lock_of(operation)]
        if moment.memory[lock] is None:
            awake = Moment(moment.threads, _with(moment.sleep, thread, ""), _with(moment.memory, lock, thread))
            after = self._go_on(awake, thread, moment.threads[thread], None)
            yield Turn(thread, f"awake, take {self._lock_of(operation)} again", after)

    def _lock_of(self, operation: Operation) -> str:
        kind = self.program.shared.get(operation.name)
        return kind.lock if isinstance(kind, Condition) else operation.name

    def _must_hold(self, holder: Any, thread: int, lock: str) -> None:
        if holder != thread:
            raise ProtocolBug(f"{self.names[thread]} gives {lock!r} back without holding it")

    def _go_on(self, moment: Moment, thread: int, place: int, result: Any) -> Moment:
        key = (thread, place, result)
        after = self._next.get(key)
        if after is None:
            after = self._next[key] = self._stand(thread, (*self._places[thread][place].results, result))
        return moment._replace(threads=_with(moment.threads, thread, after))

    def _stand(self, thread: int, results: tuple[Any, ...]) -> int:
        """Run a thread from its beginning, with these results, and return where it stands."""
        body = self._begin(thread)
        try:
            operation = next(body)
            for result in results:
                operation = body.send(result)
        except StopIteration:
            return ENDED
        except VezError:
            raise
        except (Exception, SystemExit) as error:
            raise blame_function(error, None, f"thread {self.names[thread]}") from error
        self._must_fit(self.names[thread], operation)
        key: tuple[Any, ...]
        try:
            key = ("stands", _snapshot(body), operation)
        except TypeError:  # something that cannot be compared: the way there names the state
            key = ("came", results, operation)
        number = self._known[thread].setdefault(key, len(self._places[thread]))
        if number == len(self._places[thread]):
            self._places[thread].append(Place(operation, results))
        return number

    def _begin(self, thread: int) -> Generator[Operation, Any, None]:
        name, function = self.names[thread], self.program.threads[self.names[thread]]
        try:
            body = function()
        except VezError:
            raise
        except (Exception, SystemExit) as error:
            raise blame_function(error, function, f"thread {name}") from error
        if not isinstance(body, Generator):
            raise ProtocolBug(
                f"the body of thread {name} returns {body!r} and yields nothing", hint="yield read(...), write(...), …"
            )
        return body

    def _must_fit(self, name: str, operation: Any) -> None:
        """Refuse what is not an operation, on the right kind of object, with a value that stays as it is."""
        if not isinstance(operation, Operation):
            raise ProtocolBug(f"{name} yields {operation!r}", hint="yield read(...), write(...), …")
        if operation.name not in self._where:
            raise ProtocolBug(f"{name} uses {operation.name!r}, which is not shared", hint="declare it")
        kind = self.program.shared[operation.name]
        needed = next((needed for needed, kinds in _NEEDS.items() if isinstance(operation, kinds)), None)
        if not isinstance(kind, needed) if needed else not is_variable(kind):
            expected = needed.__name__ if needed else "variable"
            raise ProtocolBug(f"{name} does {operation.words()!r}, and {operation.name} is {kind!r}, no {expected}")
        _must_stay(operation, f"{name} does {operation.words()!r}")


def _must_stay(value: Any, words: str) -> None:
    try:
        hash(value)
    except TypeError as error:
        raise ProtocolBug(f"{words}: a value that can change in place", hint="use a tuple or a frozenset") from error


def _first_value(kind: Any) -> Any:
    if isinstance(kind, Lock):
        return None
    return () if isinstance(kind, Condition | Queue) else kind


def is_variable(kind: Any) -> bool:
    return not isinstance(kind, Lock | Condition | Queue)


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _snapshot(body: Generator[Any, Any, Any]) -> tuple[Any, ...]:
    """Where a generator stands: instruction, local variables and the iterators of its loops.

    The iterator of a `for` is not a variable; the garbage collector's view of the generator shows it. One whose
    position cannot be read (a generator, say) raises TypeError: then the way there must name the state.
    """
    parts: list[Any] = []
    current: Any = body
    while current is not None:
        frame = getattr(current, "gi_frame", None)
        if frame is None:
            raise TypeError("not a generator")
        own = tuple(sorted(frame.f_locals.items()))
        hash(own)
        deeper = current.gi_yieldfrom
        loops = tuple(
            _position(referent)
            for referent in gc.get_referents(current)
            if hasattr(referent, "__next__") and referent is not deeper
        )
        parts.append((frame.f_lasti, own, loops))
        current = deeper
    return tuple(parts)


_READABLE: tuple[type, ...] = (type(iter(range(0))), type(iter(())), type(iter([])), type(iter("")))


def _position(iterator: Any) -> tuple[Any, ...]:
    if type(iterator) not in _READABLE:
        raise TypeError("an iterator whose position cannot be read")
    _, arguments, *state = iterator.__reduce__()
    return (type(iterator).__name__, tuple(map(repr, arguments)), tuple(state))
