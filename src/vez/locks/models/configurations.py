"""Configurations of the turn table to explore: one for each feature, and one for each pair of features that interact.

A configuration has four processes, three clients and the server, and the faults that belong to its feature. Each is
small enough to be explored completely. Options of `vez check` change it.
"""

from __future__ import annotations

from typing import ClassVar

from vez.core import Property
from vez.errors import UnknownName
from vez.locks.models.server import Question, TableModel

PREFIX = "table:"

_ALONE = (Property.EXCLUSION, Property.DEADLOCK_FREEDOM, Property.FENCED_EXCLUSION)
_IN_TURN = (*_ALONE, Property.STARVATION_FREEDOM, Property.BOUNDED_WAITING)
_TOGETHER = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM)
"""Guarantees of models in which several clients may be inside at once; the referee decides which may be. Grants may
overtake each other on the way, so a resource that checks tokens would refuse the slower client."""
_BROKEN = (Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM, Property.FENCED_EXCLUSION)
"""Guarantees of models in which locks are released by force. A holder that ignores its loss stays inside beyond its
grace, and its writes are refused."""


class TableLock(TableModel):
    """Exclusive locks."""

    name = "table:lock"
    guarantees = _IN_TURN

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0


class TableWithdrawal(TableLock):
    """Locks whose waiters give up, also while the grant is on its way."""

    name = "table:withdrawal"
    question = Question(withdrawals=2)


class TableCrash(TableLock):
    """Locks whose clients crash: as holders, as waiters, and with messages under way."""

    name = "table:crash"
    question = Question(crashes=2)


class TableWithdrawalCrash(TableLock):
    """Waiters that give up, beside clients that crash."""

    name = "table:withdrawal-crash"
    question = Question(crashes=1, withdrawals=1)


class TableBreak(TableModel):
    """Locks that are broken by force twice, with a grace."""

    name = "table:break"
    guarantees = _BROKEN
    grace_ms = 1
    most_breaks = 2


class TableBreakAtOnce(TableBreak):
    """Locks that are broken by force twice, without a grace."""

    name = "table:break-at-once"
    grace_ms = 0


class TableBreakWithdrawal(TableBreak):
    """Forced releases, beside waiters that give up."""

    name = "table:break-withdrawal"
    most_breaks = 1
    question = Question(withdrawals=1)


class TableBreakCrash(TableBreak):
    """Forced releases, beside clients that crash: also in their grace."""

    name = "table:break-crash"
    most_breaks = 1
    question = Question(crashes=1)


class TableShared(TableModel):
    """Two readers and a writer."""

    name = "table:shared"
    guarantees = _TOGETHER
    readers = (2, 3)


class TableSharedWithdrawal(TableShared):
    """Readers and a writer that give up: the readers behind the writer get in."""

    name = "table:shared-withdrawal"
    question = Question(withdrawals=2)


class TableSharedCrash(TableShared):
    """Readers and a writer that crash."""

    name = "table:shared-crash"
    question = Question(crashes=1)


class TableSharedBreak(TableShared):
    """Readers and a writer whose locks are broken by force, with a grace."""

    name = "table:shared-break"
    grace_ms = 1
    most_breaks = 1


class TableSemaphore(TableModel):
    """A semaphore with two permits."""

    name = "table:semaphore"
    guarantees = _TOGETHER
    kind = "semaphore"
    limit = 2


class TableSemaphoreWithdrawal(TableSemaphore):
    """Permits whose waiters give up."""

    name = "table:semaphore-withdrawal"
    question = Question(withdrawals=2)


class TableSemaphoreCrash(TableSemaphore):
    """Permits whose holders and waiters crash."""

    name = "table:semaphore-crash"
    question = Question(crashes=1)


class TableSemaphoreBreak(TableSemaphore):
    """Permits that are broken by force, with a grace."""

    name = "table:semaphore-break"
    grace_ms = 1
    most_breaks = 1


class TableElection(TableModel):
    """Candidates of the weights 0, 1 and 1. The light one may starve."""

    name = "table:election"
    guarantees: ClassVar[tuple[Property, ...]] = _ALONE
    kind = "election"
    weights = (0, 0, 1, 1)


class TableElectionWithdrawal(TableElection):
    """Candidates that give up."""

    name = "table:election-withdrawal"
    question = Question(withdrawals=2)


class TableElectionCrash(TableElection):
    """Leaders and candidates that crash."""

    name = "table:election-crash"
    question = Question(crashes=1)


class TableElectionTransfer(TableElection):
    """Leaders that make any candidate leader instead of leaving."""

    name = "table:election-transfer"
    transfers = True


class TableElectionBreak(TableElection):
    """Leaders that are deposed by force, with a grace."""

    name = "table:election-break"
    guarantees = (Property.DEADLOCK_FREEDOM, Property.FENCED_EXCLUSION)
    grace_ms = 1
    most_breaks = 1


class TableElectionTransferBreak(TableElectionBreak):
    """Leaders that transfer, beside forced releases: a deposed leader cannot transfer."""

    name = "table:election-transfer-break"
    transfers = True
    question = Question(requests=1)


CONFIGURATIONS: dict[str, type[TableModel]] = {
    model.name: model
    for model in list(globals().values())
    if isinstance(model, type) and issubclass(model, TableModel) and model.name
}
"""The configurations by name."""


def find_model(name: str) -> type[TableModel]:
    """The model of that name. The error for an unknown name suggests similar ones."""
    try:
        return CONFIGURATIONS[name]
    except KeyError:
        raise UnknownName("configuration of the turn table", name, CONFIGURATIONS) from None
