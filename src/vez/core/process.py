"""Process: one participant, written as event handlers.

Its declared fields are its state. A field marked `Durable` survives a crash, a `Parameter` is configuration
and never changes, and the rest is forgotten when the process crashes.

Handlers are found by name:

    on_start(io)                          once, before anything else
    on_recover(io)                        after a crash; unless defined, the same as on_start
    on_<message>(message, sender, io)     on_vote_for_me for a VoteForMe
    on_timer_<name>(io)                   io.set_timer("<name>", ...) ran out
    on_suspect(peer, io), on_trust(peer, io)   the failure detector changed its mind
    on_want(io), on_done(io)              Mutex: the application wants in; its stay is over
    on_withdraw(io)                       Mutex: the application no longer waits
    on_elect(io)                          Election: the application asks for an election
"""

from __future__ import annotations

import typing
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform

import msgspec

from vez.core import class_rules
from vez.core.assumptions import Assumption, Property
from vez.core.declarations import check_declarations, checked_bound, deferred
from vez.core.drawn_view import View
from vez.core.handlers import Handlers, check_handlers
from vez.core.io import Io
from vez.core.message import plain_values
from vez.core.topology import Complete, Topology
from vez.errors import BadHandler

T = TypeVar("T")


class _Mark(msgspec.Struct, frozen=True):
    name: str


DURABLE = _Mark("durable")
PARAMETER = _Mark("parameter")

Durable = Annotated[T, DURABLE]
"""A field that survives a crash: it is on stable storage before the handler's messages leave."""

Parameter = Annotated[T, PARAMETER]
"""A field that is configuration: the same before and after a crash, never assigned by a handler."""


@dataclass_transform(kw_only_default=True, eq_default=False)
class Process(msgspec.Struct, eq=False, gc=False, kw_only=True):
    """Base of all algorithms. Subclass `Mutex` or `Election` to be driven and judged as one."""

    name: ClassVar[str] = ""
    topology: ClassVar[type[Topology]] = Complete
    assumes: ClassVar[tuple[Assumption, ...]] = ()
    guarantees: ClassVar[tuple[Property, ...]] = ()
    role: ClassVar[Literal["mutex", "election", "other"]] = "other"
    wrong: ClassVar[str] = ""
    """The reason why this algorithm is in the catalogue although it is wrong; empty if it is not known to be wrong."""
    symmetry: ClassVar[Literal["", "full", "rotation"]] = ""
    """The renamings of processes that do not change the behaviour. "full": any renaming that keeps the hub, if
    identifiers are only compared for equality. "rotation": rotations of the ring, if identifiers are never read.
    Empty: none, because identifiers are compared by order."""
    identifier_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of the process and of its messages that hold only identifiers. The symmetry reduction renames them."""
    fault_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that set how often the process itself fails. The checker prints them with the faults."""
    abstraction: ClassVar[str] = ""
    """The differences between the model and the real algorithm. The checker prints this text with its verdicts."""
    __handlers__: ClassVar[Handlers]
    """The handlers of the class; read them with `handlers_of`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        with deferred(cls):
            class_rules.check_fields(cls, "process")
            check_handlers(cls)
            check_declarations(cls)
            cls.__handlers__ = Handlers(cls)

    @classmethod
    def smallest(cls) -> int:
        """The smallest number of processes with which the algorithm makes sense."""
        return 2

    def on_start(self, io: Io) -> None:
        """Called once, before anything else. Does nothing by default."""

    def on_recover(self, io: Io) -> None:
        """Called after a crash. Only durable fields and parameters have kept their values."""
        self.on_start(io)

    def watches(self, me: int, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The processes whose crashes a failure detector must report to this one. By default all others."""
        return tuple(peer for peer in ids if peer != me)

    def objection(self, ids: tuple[int, ...]) -> str:
        """A text that says why the parameters do not suit these processes; empty if they do."""
        return ""

    def longest_delay_ms(self) -> float | None:
        """Largest message delay (ms) that the timers tolerate; None if no timer depends on it."""
        return None

    def status(self) -> str:
        """The state in a few words, shown at the lifeline in pictures; empty to show nothing."""
        return ""

    def view(self) -> View | None:
        """Additional state for pictures of the network; None if there is none."""
        return None


Process.__handlers__ = Handlers(Process)


class Mutex(Process):
    """A process that can be asked to get into the critical section."""

    role = "mutex"
    endless_requests: ClassVar[bool] = False
    """True if an unlimited number of requests leads to finitely many states, because nothing counts them. `vez check`
    then does not limit the requests. Not inherited, because a subclass may count requests."""

    @classmethod
    def bypass_bound(cls, n: int) -> int | None:
        """The largest number of later requests that may overtake a placed one, among n processes; None if unbounded.

        A request is placed when all messages that `on_want` sent have arrived, and at once if it sent none. A later
        request is one that is made after that. A class that guarantees `bounded_waiting` must override this.
        """
        return None

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The processes that want in if the scenario does not name any."""
        return ids

    def longest_stay_ms(self) -> float | None:
        """Longest stay inside (ms) that the timers tolerate; None if no timer depends on it."""
        return None

    def on_want(self, io: Io) -> None:
        """The application wants in; answer some time later with `io.enter()`."""
        raise BadHandler(f"{type(self).__name__} has no on_want", hint="a Mutex defines on_want and on_done")

    def on_done(self, io: Io) -> None:
        """The application has left the critical section."""
        raise BadHandler(f"{type(self).__name__} has no on_done", hint="a Mutex defines on_want and on_done")

    def on_withdraw(self, io: Io) -> None:
        """The application no longer waits. By default the request remains, and the process leaves at once when granted.

        Override this only if the protocol can take a request back. After it returns, the process must not call
        `io.enter()` for that request.
        """

    @classmethod
    def can_retract(cls) -> bool:
        """True if `on_withdraw` takes the request back."""
        return cls.on_withdraw is not Mutex.on_withdraw


class Election(Process):
    """A process that can be asked to elect a leader. It reports the leader with `io.elected`."""

    role = "election"
    best_wins: ClassVar[bool] = False
    """True if the algorithm promises that the leader is the last live process of `candidates`."""

    one_election: ClassVar[bool] = False
    """True if the algorithm is written for a single election: worlds refuse to ask a process twice."""

    rising_terms: ClassVar[bool] = False
    """True if a later leader always has a larger term than an earlier one, so that programs may fence with the term."""

    def candidates(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The processes of `ids` that may lead, the best last. By default all of them, by identifier."""
        return tuple(sorted(ids))

    def on_elect(self, io: Io) -> None:
        """The application asks for an election."""
        raise BadHandler(f"{type(self).__name__} has no on_elect", hint="an Election defines on_elect")


def initial_fields(process: Process) -> dict[str, Any]:
    """The fields of a process that has not started yet, where they differ from those of its class, as plain values."""
    fields = {name: getattr(process, name) for name in process.__struct_fields__}
    parameters = {name: fields.pop(name) for name in marked(type(process), PARAMETER)}
    usual = type(process)(**parameters)
    return plain_values({name: value for name, value in fields.items() if value != getattr(usual, name)})


def name_of(cls: type[Process]) -> str:
    """The name of an algorithm for messages: its `name`, or the name of the class if it has none."""
    return cls.name or cls.__name__


def bypass_bound(cls: type[Process], n: int) -> int | None:
    """The bound on bypasses of a mutex among n processes; None if it declares no bound."""
    return checked_bound(cls, n) if issubclass(cls, Mutex) else None


def handlers_of(cls: type[Process]) -> Handlers:
    """The message and timer tables of a class of processes."""
    return cls.__handlers__


@cache
def marked(cls: type[Process], mark: _Mark) -> tuple[str, ...]:
    """The names of the fields that carry a mark, in the order of declaration."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple(field for field in cls.__struct_fields__ if mark in getattr(hints[field], "__metadata__", ()))


def state_fields(cls: type[Process]) -> tuple[str, ...]:
    """The fields that are state: all but the parameters."""
    parameters = marked(cls, PARAMETER)
    return tuple(field for field in cls.__struct_fields__ if field not in parameters)
