"""Mistakes with tokens (`token-ring`, `suzuki-kasami`, `raymond`, `naimi-trehel`)."""

from __future__ import annotations

from vez.catalogue.mutex import naimi_trehel, raymond, suzuki_kasami
from vez.catalogue.mutex.naimi_trehel import NaimiTrehel
from vez.catalogue.mutex.raymond import Raymond
from vez.catalogue.mutex.suzuki_kasami import SuzukiKasami
from vez.catalogue.mutex.token_ring import Token, TokenRing
from vez.catalogue.zoo.specimen import Specimen, crowd
from vez.core import Io, Parameter, Property
from vez.worlds.sim.scenario import Workload


class Impatient(TokenRing):
    """Makes a mistake while it waits."""

    name = "zoo:impatient"
    wrong = "a process that has waited long takes the token for lost and creates a new one"

    patience_ms: Parameter[float] = 15.0

    def on_want(self, io: Io) -> None:
        self.wanting = True
        io.set_timer("patience", self.patience_ms)

    def on_timer_patience(self, io: Io) -> None:
        io.send(io.right, Token())

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        if self.wanting:
            self.wanting = False
            io.cancel_timer("patience")
            io.enter()
        else:
            io.send(io.right, message)


class Hoarder(SuzukiKasami):
    """Makes a mistake while it has the token."""

    name = "zoo:hoarder"
    wrong = "a request that arrives while the token is idle is recorded but not served"

    def on_request(self, message: suzuki_kasami.Request, sender: int, io: Io) -> None:
        self._see(sender, message.number)


class Mute(Raymond):
    """Makes a mistake when it passes the token on."""

    name = "zoo:mute"
    wrong = "the token is passed on without asking for it back for those who still wait"

    def on_done(self, io: Io) -> None:
        self.inside = False
        if self.queue:
            first, *rest = self.queue
            self.queue = tuple(rest)
            self.holder = first
            io.send(first, raymond.Token())


class BadMemory(NaimiTrehel):
    """Makes a mistake when it changes a pointer."""

    name = "zoo:bad-memory"
    wrong = "the root takes a successor and still believes itself the last"

    def on_request(self, message: naimi_trehel.Request, sender: int, io: Io) -> None:
        if self.last is not None:
            io.send(self.last, message)
            self.last = message.origin
        elif self.wanting:
            self.next = message.origin
        else:
            self.has_token = False
            self.last = message.origin
            io.send(message.origin, naimi_trehel.Token())


SPECIMENS = (
    Specimen(
        algorithm=Impatient,
        honest=TokenRing,
        breaks=Property.EXCLUSION,
        teaches="A timeout proves nothing.",
        answer=(
            "The token was not lost, its holder was only slow: now there are two tokens. Without a bound on stays and "
            "delays, silence proves nothing. A new token needs an agreement that the old one is void."
        ),
        world=crowd(Impatient, 4, workload=Workload(requests=3, think_ms="uniform(0, 10)", inside_ms="uniform(1, 8)")),
    ),
    Specimen(
        algorithm=Hoarder,
        honest=SuzukiKasami,
        breaks=Property.DEADLOCK_FREEDOM,
        teaches="A process that has what others want must act even when it is idle.",
        answer=(
            "The holder looks for waiters only when it leaves. A request that arrives while it has the token and is "
            "outside is recorded but never served. An idle holder must send the token at once."
        ),
        world=crowd(Hoarder, 3),
    ),
    Specimen(
        algorithm=Mute,
        honest=Raymond,
        breaks=Property.STARVATION_FREEDOM,
        teaches="A process that passes the token on still owes it to those who wait behind it.",
        answer=(
            "A process that leaves sends the token to the first of its queue. Others are still in the queue, and "
            "nothing will bring the token back for them: a Request must follow the token."
        ),
        world=crowd(Mute, 5),
    ),
    Specimen(
        algorithm=BadMemory,
        honest=NaimiTrehel,
        breaks=Property.STARVATION_FREEDOM,
        teaches="In a list with one link per process: who may write a link, and how often.",
        answer=(
            "The root points to nobody even after it has a successor. A second request ends there too and overwrites "
            "`next`, so the first successor is forgotten; and when the process wants in again, it takes itself for "
            "the root and asks nobody. A process that takes a successor must point to it."
        ),
        world=crowd(BadMemory, 4),
    ),
)
