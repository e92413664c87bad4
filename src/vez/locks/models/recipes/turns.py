"""Turns: the steps of a client from the request for a turn to its end, for every recipe.

A turn is: open a session if there is none, acquire, hold, leave, and close the session if it is not kept. If the
session ends meanwhile, another one is opened and the request is made again.
"""

from __future__ import annotations

from typing import Any, ClassVar

from vez.core.io import Io
from vez.core.topology import Star
from vez.errors import ProtocolBug
from vez.locks.models.recipes.client import Client
from vez.locks.models.recipes.positions import Maker, Raised
from vez.locks.recipes.base import Removed, SessionEnded, Withdrawn
from vez.locks.recipes.etcd.lock import Seat

NAME = "lock"


class Turns(Client):
    """A client that takes turns. `doing` is `open`, `acquire`, `hold`, `leave`, `withdraw`, `close` or empty."""

    topology = Star
    acquire_recipe: ClassVar[Maker]
    leave_recipe: ClassVar[Maker]

    seat: Seat | None = None

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The clients: all but the server."""
        return ids[1:]

    def _want(self, io: Io) -> None:
        self.wanted = True
        if not self.doing:
            self._ask(io)

    def _unwant(self, io: Io) -> None:
        self.wanted = False
        if self.doing == "acquire":
            self.doing = "withdraw"
            self._withdraw(io)

    def _leave(self, io: Io) -> None:
        self._begin("leave", type(self).leave_recipe, self.session, NAME, self.seat, io=io)

    def _request(self, io: Io) -> tuple[object, ...]:
        """The arguments of the recipe after the session and the name."""
        return ("",)

    def _granted(self, seat: Seat, io: Io) -> None:
        """Tell the application that its request is granted."""
        raise NotImplementedError

    def _ask(self, io: Io) -> None:
        self.turn += 1
        if self.ended:
            self._forget(io)
        if self.session is None:
            self._open(io)
        else:
            self._acquire(io)

    def _acquire(self, io: Io) -> None:
        self._begin("acquire", type(self).acquire_recipe, self.session, NAME, *self._request(io), io=io)

    def _over(self, result: Any, io: Io) -> None:
        if self.doing == "open":
            self._opened(result, io)
            if self.wanted:
                self._acquire(io)
            else:
                self._finish(io)
        elif self.doing == "acquire":
            self.seat, self.wanted, self.doing = result, False, "hold"
            self._check_first(result.token, io)
            self._granted(result, io)
        elif self.doing == "leave":
            self.seat = None
            self._finish(io)
        elif self.doing == "close":
            self._forget(io)
            self._rest(io)
        else:
            raise ProtocolBug(f"process {io.me}: the recipe returned {result!r} after it was withdrawn")

    def _failed(self, raised: Raised, io: Io) -> None:
        if isinstance(raised.error, Removed) and self.wanted and self.doing == "acquire":
            self._acquire(io)
        elif isinstance(raised.error, Removed) and self.doing == "withdraw":
            self._finish(io)
        elif isinstance(raised.error, SessionEnded):
            self._forget(io)
            if self.wanted and self.doing in ("open", "acquire"):
                self._open(io)
            else:
                self._rest(io)
        elif isinstance(raised.error, Withdrawn) and self.doing == "withdraw":
            self._finish(io)
        else:
            raise raised.error

    def _finish(self, io: Io) -> None:
        if self.pooled:
            self._rest(io)
        else:
            self._begin("close", type(self).close_recipe, self.session, io=io)

    def _rest(self, io: Io) -> None:
        super()._rest(io)
        if self.wanted:
            self._ask(io)
