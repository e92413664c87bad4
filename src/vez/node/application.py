"""Application: what uses the algorithm on a node: wants, stays inside, elections. State only, no I/O."""

from __future__ import annotations

from typing import Literal

from vez.core.effects import spurious_state
from vez.core.process import Election, Mutex, Process
from vez.core.trace import Entered, Noted
from vez.errors import Misuse

State = Literal["outside", "waiting", "inside"]


class Application:
    """Whether this process waits or is inside, and whom it takes for the leader."""

    def __init__(self, me: int, algorithm: type[Process]) -> None:
        self._me = me
        self._algorithm = algorithm
        self.state: State = "outside"
        self.withdrawn = False
        """True if the application no longer waits, but the process may still be let in; it then leaves at once."""
        self.inside_ms: float | None = None
        """How long the next or current stay lasts; None until it is told to leave."""
        self.linger_ms = 0.0
        """How long it takes to leave if it is let in after it withdrew."""
        self.token: int | None = None
        """The token of the current stay, if it has one."""
        self.entries = 0
        self.leader: int | None = None
        self.term = 0

    def want(self, inside_ms: float | None, linger_ms: float = 0.0) -> None:
        """The application wants in."""
        self._needs(Mutex, "want")
        if self.state != "outside":
            raise Misuse(f"node {self._me} is {self.state} already")
        self.state, self.withdrawn = "waiting", False
        self.inside_ms, self.linger_ms = inside_ms, linger_ms

    def entered(self, at: int, token: int | None) -> Entered | Noted:
        """The algorithm called `io.enter()`: the event to record, which is a remark if nobody waits for it."""
        if self.state != "waiting":
            words = spurious_state(inside=self.state == "inside")
            return Noted(at, self._me, f"was let in, but {words}")
        self.state, self.token = "inside", token
        self.entries += 1
        return Entered(at, self._me, token)

    def leave(self) -> None:
        """The stay is over."""
        self._needs(Mutex, "leave")
        if self.state != "inside":
            raise Misuse(f"node {self._me} is not inside")
        self.state, self.withdrawn, self.token = "outside", False, None

    def withdraw(self) -> bool:
        """The application no longer waits. True if the algorithm takes the request back."""
        self._needs(Mutex, "withdraw")
        if self.state != "waiting" or self.withdrawn:
            raise Misuse(f"node {self._me} is not waiting")
        retracted = issubclass(self._algorithm, Mutex) and self._algorithm.can_retract()
        if retracted:
            self.state = "outside"
        else:
            self.withdrawn = True
        return retracted

    def elect(self) -> None:
        """The application asks for an election."""
        self._needs(Election, "elect")

    def _needs(self, role: type[Process], command: str) -> None:
        if not issubclass(self._algorithm, role):
            what = "a mutual exclusion" if role is Mutex else "an election"
            raise Misuse(f"{command}: {self._algorithm.__name__} is not {what} algorithm")
