"""The token moves along a tree; every process knows in which direction it is.

Idea:        The processes form a tree. Each knows which neighbour leads to the token, keeps a queue of the neighbours
             (and itself) that have asked, and asks once for all of them. The token comes back along the way of the
             requests, and the pointers turn to follow it.
Source:      Raymond, ACM TOCS 7(1), 1989.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation. Not bounded waiting: when a process sends the token on and still has
             waiters, the Request that asks for it again may be slow. Until it arrives, the new holder enters as often
             as it likes. Not the order of requests, for the same reason: it may know of the waiters from the token.
Messages:    0 per entry for a process that has the token, at most twice the diameter of the tree for a single request,
             about 4 when everybody always wants in. Client delay 0 to twice the diameter, synchronization delay 1 to
             the diameter.
Deviations:  The tree is the heap order of the identifiers, each process with `arity` children: 1 makes a chain, N-1 a
             star. The root, which has the smallest identifier, starts with the token. Channels need not be FIFO: at
             most one Request is in transit from a process to its neighbour, and a Request that overtakes the token
             waits in the queue.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Parameter, Property, named


class Request(Message):
    """To the neighbour on the way to the token: somebody on my side wants it."""


class Token(Message):
    """Its holder may enter."""


class Raymond(Mutex):
    """A token at the root of a tree whose edges always lead to it."""

    name = "raymond"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    endless_requests = True
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
    )

    arity: Parameter[int] = 2
    holder: int = 0  # the neighbour on the way to the token; the process itself where the token is
    asked: bool = False  # a Request to the holder has not been answered by the token
    inside: bool = False
    queue: tuple[int, ...] = ()  # neighbours that asked, and perhaps this process, in the order of asking; none twice

    def objection(self, ids: tuple[int, ...]) -> str:
        return f"arity: expected 1 or more children, found {self.arity}" if self.arity < 1 else ""

    def on_start(self, io: Io) -> None:
        members = sorted((io.me, *io.peers))
        place = members.index(io.me)
        self.holder = members[(place - 1) // self.arity] if place else io.me

    def on_recover(self, io: Io) -> None:
        """A process that comes back does not create a second token: the root assumes that its first child has it."""
        self.on_start(io)
        if self.holder == io.me:
            self.holder = min(io.peers)

    def on_want(self, io: Io) -> None:
        self.queue += (io.me,)
        self._move(io)

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.queue += (sender,)
        self._move(io)

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        self.holder = io.me
        self.asked = False
        self._move(io)

    def on_done(self, io: Io) -> None:
        self.inside = False
        self._move(io)

    def _move(self, io: Io) -> None:
        """Give the token to the first of the queue, and ask for it again if there are more."""
        if self.holder == io.me and not self.inside and self.queue:
            first, self.queue = self.queue[0], self.queue[1:]
            if first == io.me:
                self.inside = True
                io.enter()
            else:
                self.holder = first
                io.send(first, Token())
        if self.holder != io.me and self.queue and not self.asked:
            self.asked = True
            io.send(self.holder, Request())

    def status(self) -> str:
        queue = f", queue [{', '.join(map(named, self.queue))}]" if self.queue else ""
        return f"→ {named(self.holder)}{queue}"
