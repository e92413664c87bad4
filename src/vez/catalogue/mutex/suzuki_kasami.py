"""Ask everybody for the token; the token knows who has been served.

Idea:        There is one token, and its holder may enter at once, as often as it likes. A process without it broadcasts
             a numbered request. The token carries the number of the last served request of each process, and a queue. A
             holder that leaves queues every process whose newest request is one beyond the last served, and sends the
             token to the first.
Source:      Suzuki and Kasami, ACM TOCS 3(4), 1985.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation. A request is placed when it has arrived at all processes; before
             that the holder of the token may enter again and again. Then at most N-2 later requests overtake it: the
             holder queues it when it leaves, and each other process at most once before it. Not the order of requests:
             the holder may hear of the later one first.
Messages:    0 per entry for a process that has the token, otherwise N: N-1 Request and the Token, whose size grows with
             N. Client delay 0 or 2, synchronization delay 1.
Deviations:  New waiters are queued in ring order, beginning after the holder, so that small identifiers have no
             advantage. The hub starts with the token.
"""

from __future__ import annotations

from bisect import bisect_left

from vez.core import Assumption, Io, Message, Mutex, ProcessId, Property, named


class Request(Message):
    """I want in, for the number-th time."""

    number: int


class Token(Message):
    """Its holder may enter. Carries the queue, and each process's last served request by ascending identifier."""

    queue: tuple[ProcessId, ...]
    served: tuple[int, ...]


class SuzukiKasami(Mutex):
    """A token that is requested by broadcast."""

    name = "suzuki-kasami"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
    )

    members: tuple[int, ...] = ()  # all processes, ascending
    requests: tuple[int, ...] = ()  # the newest request number of each of the members
    token: Token | None = None  # at most one process has it
    inside: bool = False

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return n - 2

    def on_start(self, io: Io) -> None:
        self.on_recover(io)
        if io.me == io.hub:
            self.token = Token((), (0,) * len(self.members))

    def on_recover(self, io: Io) -> None:
        """A process that comes back does not create a second token."""
        self.members = tuple(sorted((io.me, *io.peers)))
        self.requests = (0,) * len(self.members)

    def on_want(self, io: Io) -> None:
        number = self.requests[self.members.index(io.me)] + 1
        self._see(io.me, number)
        if self.token is not None:
            self.inside = True
            io.enter()
        else:
            io.broadcast(Request(number))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self._see(sender, message.number)
        if self.token is not None and not self.inside:
            self._pass_on(self.token, io)

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        self.token = message
        self.inside = True
        io.enter()

    def on_done(self, io: Io) -> None:
        self.inside = False
        if self.token is not None:
            place = self.members.index(io.me)
            served = _replaced(self.token.served, place, self.requests[place])
            self._pass_on(Token(self.token.queue, served), io)

    def _see(self, process: int, number: int) -> None:
        """Record a request; an older one that was overtaken changes nothing."""
        place = bisect_left(self.members, process)
        if number > self.requests[place]:
            self.requests = _replaced(self.requests, place, number)

    def _pass_on(self, token: Token, io: Io) -> None:
        """Queue the new waiters and send the token to the first; keep it if there is none."""
        known = zip(self.members, self.requests, token.served, strict=True)
        queued = frozenset(token.queue)
        new = [process for process, number, served in known if number == served + 1 and process not in queued]
        queue = token.queue + tuple(sorted(new, key=lambda process: (process <= io.me, process)))
        self.token = None if queue else Token((), token.served)
        if queue:
            io.send(queue[0], Token(queue[1:], token.served))

    def status(self) -> str:
        if self.token is None:
            return ""
        return f"token, queue [{', '.join(map(named, self.token.queue))}]"


def _replaced(numbers: tuple[int, ...], place: int, number: int) -> tuple[int, ...]:
    """Replace one of the numbers.

    Every request comes here: built by unpacking, `(*…, number, *…)`, the tuple makes a run of 100 processes a tenth
    slower (`python -m bench mutex`).
    """
    return numbers[:place] + (number,) + numbers[place + 1 :]  # noqa: RUF005 - see above
