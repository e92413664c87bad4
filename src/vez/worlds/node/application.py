"""Application: the state of the application that uses the algorithm: wants, stays inside, elections. No I/O."""

from __future__ import annotations

from typing import Literal

from vez.core.effects import spurious_state
from vez.core.process import Election, Mutex, Process
from vez.core.trace import Entered, Noted
from vez.errors import Misuse

State = Literal["outside", "waiting", "inside"]


class Application:
    """The state of this process (outside, waiting or inside), and the leader that it names."""

    def __init__(self, me: int, algorithm: type[Process]) -> None:
        self._me = me
        self._algorithm = algorithm
        self.state: State = "outside"
        self.withdrawn = False
        """True if the application no longer waits, but the process may still enter. Then it leaves at once."""
        self.inside_ms: float | None = None
        """The duration of the next or current stay; None if it lasts until `leave`."""
        self.linger_ms = 0.0
        """The time that the process takes to leave if it enters after it withdrew."""
        self.token: int | None = None
        """The token of the current stay, if it has one."""
        self.entries = 0
        self.leader: int | None = None
        self.term = 0

    def want(self, inside_ms: float | None, linger_ms: float = 0.0) -> None:
        """Note that the application wants in."""
        self._needs(Mutex, "want")
        if self.state != "outside":
            raise Misuse(f"node {self._me} is {self.state} already")
        self.state, self.withdrawn = "waiting", False
        self.inside_ms, self.linger_ms = inside_ms, linger_ms

    def entered(self, at: int, token: int | None) -> Entered | Noted:
        """Handle `io.enter()`. Returns the event to record, which is a remark if no request waits."""
        if self.state != "waiting":
            words = spurious_state(inside=self.state == "inside")
            return Noted(at, self._me, f"was let in, but {words}")
        self.state, self.token = "inside", token
        self.entries += 1
        return Entered(at, self._me, token)

    def leave(self) -> None:
        """Note that the stay is over."""
        self._needs(Mutex, "leave")
        if self.state != "inside":
            raise Misuse(f"node {self._me} is not inside")
        self.state, self.withdrawn, self.token = "outside", False, None

    def withdraw(self) -> bool:
        """Note that the application no longer waits. True if the algorithm takes the request back."""
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
        """Note that the application asks for an election."""
        self._needs(Election, "elect")

    def _needs(self, role: type[Process], command: str) -> None:
        if not issubclass(self._algorithm, role):
            what = "a mutual exclusion" if role is Mutex else "an election"
            raise Misuse(f"{command}: {self._algorithm.__name__} is not {what} algorithm")
