"""A thread that tells of the loss of a holding. `ears.py` does the same for the holdings of an event loop.

A thread that holds a lock asks whether it has lost it. A program that waits for other things meanwhile, as `vez run`
waits for its command, is told by this thread.
"""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import ref

from vez.locks.engines import handles
from vez.locks.engines.file.bell import HOLDER_NET, Bell
from vez.locks.engines.file.layout import BELL_IN_SLOT, HELD

if TYPE_CHECKING:
    from vez.locks.engines.file.holding import FileHolding


def tell_of_loss(holding: FileHolding, tell: Callable[[str], None]) -> None:
    """Call `tell` with the reason, from a new thread, when the holding is lost. The thread has a bell of its own, whose
    number is written into the slot of the holding: whoever breaks it by force rings there."""
    bell = Bell()
    with handles.gate:  # another thread may release it at this moment
        if holding.state == HELD and holding.sound():
            at = holding.offset + BELL_IN_SLOT
            holding.file.map[at : at + 8] = bell.number
    start_new_thread(_listen, (ref(holding), bell, tell))


def _listen(known: ref[FileHolding], bell: Bell, tell: Callable[[str], None]) -> None:
    """Look at each ring, and from time to time: nobody rings when a file is removed or truncated. The reference is
    weak, because a holding that the program has dropped must be finalised."""
    try:
        while (holding := known()) is not None and holding.state == HELD:
            if (why := holding.loss()) is not None:
                tell(why)
                return
            del holding
            bell.poller.poll(HOLDER_NET * 1000)
            bell.heard()
    finally:
        bell.close()
