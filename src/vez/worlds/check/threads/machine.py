"""Machine: the states of a program of threads, and the turns that lead from one to the next.

A thread's state is the position of its generator: the instruction and the local variables. A generator cannot be
copied. To return to a state, a new generator is given the results that led there. That happens once for each (state,
result), and the outcome is cached.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator, Mapping
from typing import Any, NamedTuple

from vez.errors import Misuse, NotDeterministic, ProtocolBug, VezError
from vez.threads.operations import (
    OF_THREADS,
    Acquire,
    Alive,
    Condition,
    Get,
    Join,
    Lock,
    Map,
    Notify,
    NotifyAll,
    Operation,
    Put,
    Sleep,
    Start,
    Wait,
)
from vez.threads.program import Program
from vez.worlds.check.threads.effects import NEEDS, changed, effect, first_value, is_variable, must_hold, readable
from vez.worlds.sim.blame import blame_function

ENDED, UNBORN = -1, -2
"""The position of a thread that has ended, and of one that was not started yet."""
ASLEEP, AWAKE = "asleep", "awake"
_OTHERWISE = (Wait, Notify, NotifyAll, Sleep, *OF_THREADS)
"""Operations that do more than change one object."""
FEWEST, ROUNDS = 512, 64
"""If fewer than FEWEST runs of threads were made, they are repeated up to ROUNDS times, to reach about FEWEST runs."""
MOST_CLOSINGS = 100
"""The largest number of nested `finally: yield …` blocks in which a thread may be when its copy is dropped."""


class Moment(NamedTuple):
    """A global state: the position of each thread, and the shared objects."""

    threads: tuple[int, ...]
    sleep: tuple[str, ...]  # by thread: "", ASLEEP on a condition, or AWAKE and waiting for its lock
    memory: tuple[Any, ...]


class Turn(NamedTuple):
    """One operation of one thread."""

    thread: int
    words: str
    after: Moment


class Place(NamedTuple):
    """The position of a thread: its next operation, and the results that led there."""

    operation: Operation
    results: tuple[Any, ...]


class Threads:
    """The interleavings of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = tuple(program.threads)
        self.objects = tuple(program.shared)
        self._where = {name: place for place, name in enumerate(self.objects)}
        self._kinds = tuple(program.shared[name] for name in self.objects)
        self._unlike = [(name, kind) for name, kind in program.shared.items() if isinstance(kind, Lock | Map)]
        self._places: list[list[Place]] = [[] for _ in self.names]
        self._known: list[dict[Any, int]] = [{} for _ in self.names]
        self._next: dict[tuple[int, int, Any], int] = {}
        self._made: list[tuple[int, tuple[Any, ...], Any]] = []  # thread, its results, its next operation
        if not self.names:
            raise Misuse("a program needs at least one thread")
        for name in self.objects:
            kind = program.shared[name]
            _must_stay(kind, f"{name} is {kind!r}")
            if isinstance(kind, Condition):
                lock = program.shared.get(kind.lock)
                if not isinstance(lock, Lock) or lock.reentrant:
                    told = "is reentrant" if isinstance(lock, Lock) else "is not a lock"
                    raise Misuse(f"condition {name!r} belongs to {kind.lock!r}, which {told}")

    def initial(self) -> Moment:
        """The state before the first step."""
        count, later = len(self.names), self.program.later
        memory = tuple(first_value(self.program.shared[name], count) for name in self.objects)
        starts = tuple(UNBORN if self.names[thread] in later else self._stand(thread, ()) for thread in range(count))
        return Moment(starts, ("",) * count, memory)

    def turns(self, moment: Moment) -> Iterator[Turn]:
        """The possible turns of the threads. A blocked thread has none. Daemons stop with the last other thread."""
        if self.program.daemons and not self.unfinished(moment):
            return
        for thread, place in enumerate(moment.threads):
            if place in (ENDED, UNBORN) or moment.sleep[thread] == ASLEEP:
                continue
            operation = self._places[thread][place].operation
            if moment.sleep[thread] == AWAKE:
                yield from self._retake(moment, thread, operation)
            else:
                yield from self._turn(moment, thread, place, operation)

    def unfinished(self, moment: Moment) -> list[str]:
        """The threads that were started and have not ended, without daemons."""
        names, daemons = self.names, self.program.daemons
        places = enumerate(moment.threads)
        return [names[one] for one, place in places if place not in (ENDED, UNBORN) and names[one] not in daemons]

    def memory(self, moment: Moment) -> Mapping[str, Any]:
        """The variables, and the contents of queues, maps and outputs."""
        found = dict(zip(self.objects, moment.memory, strict=True))
        for name, kind in self._unlike:
            found[name] = readable(kind, found[name])
        return found

    def waits_for(self, moment: Moment) -> dict[str, tuple[str, str]]:
        """Blocked thread → the object that it waits for, and the thread that holds the object (empty if none)."""
        found = {}
        for thread, place in enumerate(moment.threads):
            if place in (ENDED, UNBORN):
                continue
            operation = self._places[thread][place].operation
            if isinstance(operation, Join):
                found[self.names[thread]] = ("the end", operation.name)
                continue
            if moment.sleep[thread] == ASLEEP:
                found[self.names[thread]] = (operation.name, "")
                continue
            awake = moment.sleep[thread] == AWAKE
            name = self._lock_of(operation) if awake or isinstance(operation, Acquire) else operation.name
            held = moment.memory[self._where[name]] if isinstance(self.program.shared.get(name), Lock) else None
            if isinstance(operation, Acquire | Put | Get) or awake:
                found[self.names[thread]] = (name, self.names[held[0]] if held else "")
        return found

    # One turn of a thread.

    def _turn(self, moment: Moment, thread: int, place: int, operation: Operation) -> Iterator[Turn]:
        at = self._where.get(operation.name, -1)
        if at >= 0 and not isinstance(operation, _OTHERWISE):
            done = effect(operation, self._kinds[at], moment.memory[at], thread, self.names)
            if done is not None:
                value, result, words = done
                after = Moment(moment.threads, moment.sleep, changed(moment.memory, at, value))
                yield Turn(thread, words, self._go_on(after, thread, place, result))
            return
        match operation:
            case Wait():
                yield self._sleep(moment, thread, operation)
            case Notify() | NotifyAll():
                yield from self._wake(moment, thread, place, operation)
            case Start() | Join() | Alive():
                yield from self._of_threads(moment, thread, place, operation)
            case _:
                yield Turn(thread, operation.words(), self._go_on(moment, thread, place, None))

    def _of_threads(self, moment: Moment, thread: int, place: int, operation: Start | Join | Alive) -> Iterator[Turn]:
        other, words = self.names.index(operation.name), operation.words()
        where, result = moment.threads[other], None
        if isinstance(operation, Start):
            if where != UNBORN:
                raise ProtocolBug(f"{self.names[thread]} starts {operation.name}, which was started before")
            moment = moment._replace(threads=changed(moment.threads, other, self._stand(other, ())))
        elif isinstance(operation, Alive):
            result = where not in (ENDED, UNBORN)
            words = f"{words}: {'yes' if result else 'no'}"
        else:
            result = where == ENDED
            if not result and operation.seconds is None:
                return
            words += "" if result else ": the time is up"
        yield Turn(thread, words, self._go_on(moment, thread, place, result))

    def _sleep(self, moment: Moment, thread: int, operation: Operation) -> Turn:
        lock = self._where[self._lock_of(operation)]
        must_hold(moment.memory[lock], thread, self.names[thread], self._lock_of(operation))
        memory = changed(moment.memory, lock, None)
        queue = self._where[operation.name]
        memory = changed(memory, queue, (*memory[queue], thread))
        after = Moment(moment.threads, changed(moment.sleep, thread, ASLEEP), memory)
        return Turn(thread, f"wait on {operation.name}, asleep", after)

    def _wake(self, moment: Moment, thread: int, place: int, operation: Operation) -> Iterator[Turn]:
        at = self._where[operation.name]
        sleepers: tuple[int, ...] = moment.memory[at]
        if isinstance(operation, NotifyAll) or not sleepers:
            groups = [sleepers]
        else:
            groups = [(sleeper,) for sleeper in sleepers]  # any of them may wake up
        for group in groups:
            sleep, memory = moment.sleep, moment.memory
            for sleeper in group:
                sleep = changed(sleep, sleeper, AWAKE)
            memory = changed(memory, at, tuple(one for one in sleepers if one not in group))
            names = ", ".join(self.names[sleeper] for sleeper in group) or "nobody waits"
            after = self._go_on(Moment(moment.threads, sleep, memory), thread, place, None)
            yield Turn(thread, f"{operation.words()}: {names}", after)

    def _retake(self, moment: Moment, thread: int, operation: Operation) -> Iterator[Turn]:
        lock = self._where[self._lock_of(operation)]
        if moment.memory[lock] is None:
            awake = Moment(moment.threads, changed(moment.sleep, thread, ""), changed(moment.memory, lock, (thread, 1)))
            after = self._go_on(awake, thread, moment.threads[thread], None)
            yield Turn(thread, f"awake, take {self._lock_of(operation)} again", after)

    def _lock_of(self, operation: Operation) -> str:
        kind = self.program.shared.get(operation.name)
        return kind.lock if isinstance(kind, Condition) else operation.name

    def _go_on(self, moment: Moment, thread: int, place: int, result: Any) -> Moment:
        key = (thread, place, result)
        after = self._next.get(key)
        if after is None:
            after = self._next[key] = self._stand(thread, (*self._places[thread][place].results, result))
        return Moment(changed(moment.threads, thread, after), moment.sleep, moment.memory)

    def _stand(self, thread: int, results: tuple[Any, ...]) -> int:
        """Run a thread from its start with these results, and return its position."""
        body, operation = self._advanced(thread, results)
        self._made.append((thread, results, operation))
        if operation is None:
            return ENDED
        self._must_fit(self.names[thread], operation)
        key: tuple[Any, ...]
        try:
            key = ("stands", _snapshot(body), operation)
        except TypeError:  # a value that cannot be compared: the results that led there identify the state
            key = ("came", results, operation)
        _drop(body)
        number = self._known[thread].setdefault(key, len(self._places[thread]))
        if number == len(self._places[thread]):
            self._places[thread].append(Place(operation, results))
        return number

    def _advanced(self, thread: int, results: tuple[Any, ...]) -> tuple[Generator[Operation, Any, None], Any]:
        """A thread that was given these results, and its next operation; None if it has ended."""
        body = self._begin(thread)
        try:
            operation = next(body)
            for result in results:
                operation = body.send(result)
        except StopIteration:
            return body, None
        except VezError:
            raise
        except (Exception, SystemExit) as error:
            raise blame_function(error, None, f"thread {self.names[thread]}") from error
        return body, operation

    def repeat(self) -> None:
        """Run the threads again, the latest run first, and refuse a thread that yields another operation.

        The body of a thread may depend on its local variables and on the results of operations. If it reads a random
        number, a clock or a global, the explored states are arbitrary. If there were few runs, each is repeated several
        times.
        """
        ways, self._made = self._made[::-1], []
        for _ in range(max(1, min(ROUNDS, FEWEST // max(1, len(ways))))):
            for thread, results, wanted in ways:
                body, again = self._advanced(thread, results)
                _drop(body)
                if again != wanted:
                    first, second = ("to end" if one is None else _words(one) for one in (wanted, again))
                    raise NotDeterministic(
                        f"thread {self.names[thread]}, given the same results, wanted {first} and then {second}",
                        hint="between two yields a thread may use its local variables only",
                    )

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
        """Refuse a value that is not an operation, a wrong kind of object, and a mutable value."""
        if not isinstance(operation, Operation):
            raise ProtocolBug(f"{name} yields {operation!r}", hint="yield read(...), write(...), …")
        if isinstance(operation, Sleep):
            return
        if isinstance(operation, OF_THREADS):
            if operation.name not in self.names:
                raise ProtocolBug(f"{name} uses thread {operation.name!r}, which does not exist", hint="declare it")
            return
        if operation.name not in self._where:
            raise ProtocolBug(f"{name} uses {operation.name!r}, which is not shared", hint="declare it")
        kind = self.program.shared[operation.name]
        needed = next((needed for needed, kinds in NEEDS.items() if isinstance(operation, kinds)), None)
        if not isinstance(kind, needed) if needed else not is_variable(kind):
            expected = needed.__name__ if needed else "variable"
            raise ProtocolBug(f"{name} does {operation.words()!r}, and {operation.name} is {kind!r}, no {expected}")
        _must_stay(operation, f"{name} does {operation.words()!r}")


def _words(operation: Any) -> str:
    return f"to {operation.words()}" if isinstance(operation, Operation) else repr(operation)


def _drop(body: Generator[Any, Any, Any]) -> None:
    """Close a copy of a thread. If it is before `finally: yield …`, it runs to that yield and is closed again."""
    for _ in range(MOST_CLOSINGS):
        try:
            body.close()
            return
        except RuntimeError:
            continue


def _must_stay(value: Any, words: str) -> None:
    try:
        hash(value)
    except TypeError as error:
        raise ProtocolBug(f"{words}: a value that can change in place", hint="use a tuple or a frozenset") from error


def _snapshot(body: Generator[Any, Any, Any]) -> tuple[Any, ...]:
    """The position of a generator: instruction, local variables and the iterators of its loops.

    The iterator of a `for` is not a variable; the garbage collector's view of the generator shows it. An iterator whose
    position cannot be read (for example a generator) raises TypeError: then the results that led there identify the
    state.
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
