"""Semantics: the possible steps of a world, written only from the documentation of the checker.

Time, if the rules have it, passes in ticks that divide every duration. Every message, timer and stay has a number of
ticks left: a message until it must have arrived, a timer until it may and until it must run out, a stay until it must
have ended. A tick passes only if nothing that must happen has 0 left.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from math import gcd
from typing import Any

from tests.worlds.crosscheck.inside import halves
from tests.worlds.crosscheck.world import Effects, Frozen, Mail, Move, Proc, Rules, World, freeze, put, thaw
from vez.core.process import DURABLE, PARAMETER, Mutex, Process, marked

Outcome = tuple[World, frozenset[tuple[Any, ...]]]
"""The world after a handler, and the classes of timers that the handler set again."""


class Semantics:
    """All runs of some rules: the initial worlds and the moves from a world."""

    def __init__(self, rules: Rules, tick: int = 0) -> None:
        """`tick`: in microseconds; must divide the longest delay and stay."""
        self.rules = rules
        self.tick = gcd(tick, rules.delay_us, rules.stay_us or 0) if rules.timed else 0
        self.delay = rules.delay_us // self.tick if self.tick else 0
        self.longest_stay = rules.stay_us // (self.tick or 1) if rules.timed and rules.stay_us is not None else None
        self.ids = rules.topology.ids
        self.names = rules.algorithm.__struct_fields__
        self.kept = {*marked(rules.algorithm, DURABLE), *marked(rules.algorithm, PARAMETER)}
        self.blank = self._fields(rules.algorithm(**rules.parameters))

    @cached_property
    def remembers(self) -> bool:
        """True if all that would be asked to elect may die before, and others live on: whether an election has started
        then depends on what processes did of their own accord."""
        starters = [process for process in self.ids if self.rules.requests[process]]
        deaths = self.rules.budget.get("crashes", 0) + self.rules.budget.get("crashes_inside", 0)
        others = len(starters) < len(self.ids)
        return self.rules.algorithm.role == "election" and others and len(starters) <= deaths

    def starts(self) -> set[World]:
        """The worlds after `on_start` of every process; every choice in it gives a separate world."""
        nobody: tuple[tuple[Mail, ...], ...] = ((),) * len(self.ids) ** 2
        worlds = {World((), nobody, tuple(sorted(self.rules.budget.items())))}
        for place, process in enumerate(self.ids):
            born = Proc(self.blank, left=self.rules.requests[process])
            worlds = {
                after
                for world in worlds
                for after, _ in self._call(world._replace(procs=(*world.procs, born)), place, "on_start")
            }
        return worlds

    def moves(self, world: World) -> Iterator[Move]:
        """Everything that can happen next."""
        for place in range(len(self.ids)):
            yield from self._own(world, place)
        for channel in range(len(self.ids) ** 2):
            yield from self._mail(world, channel)
        if self.rules.detector:
            for place in range(len(self.ids)):
                yield from self._detector(world, place)
        for place in range(len(self.ids)):
            yield from self._faults(world, place)
        for cut in world.cuts:
            yield Move(("heal", cut), world._replace(cuts=world.cuts - {cut}), None)
        for cut in self._splits() - world.cuts if world.remaining("partitions") else ():
            yield Move(("cut", cut), world.spent("partitions")._replace(cuts=world.cuts | {cut}), None)
        if self.rules.timed:
            yield from self._advance(world)

    def _splits(self) -> set[frozenset[int]]:
        """The cuts of a partition: all channels between some processes and the others, or those of one direction."""
        size, found = len(self.ids), set()
        for members in range(1, 2**size - 1):
            out = frozenset(
                one * size + other
                for one in range(size)
                for other in range(size)
                if members >> one & 1 and not members >> other & 1
                and self.rules.topology.has_channel(self.ids[one], self.ids[other])
            )  # fmt: skip
            back = frozenset(
                other * size + one
                for one in range(size)
                for other in range(size)
                if members >> one & 1 and not members >> other & 1
                and self.rules.topology.has_channel(self.ids[other], self.ids[one])
            )  # fmt: skip
            found |= {out, back, out | back}
        return found - {frozenset()}

    # Time.

    def clocks(self, world: World) -> list[int]:
        """The remaining ticks of everything that runs; messages run only if they take time."""
        left = [ticks for proc in world.procs for _, _, ticks in proc.timers]
        left += [proc.stay for proc in world.procs if proc.stay is not None]
        return left + [mail.left for channel in world.channels for mail in channel if self.delay]

    def _advance(self, world: World) -> Iterator[Move]:
        if self.clocks(world) and not self._overdue(world):
            procs = tuple(
                proc._replace(
                    timers=frozenset((name, max(0, may - 1), max(0, must - 1)) for name, may, must in proc.timers),
                    stay=None if proc.stay is None else max(0, proc.stay - 1),
                )
                for proc in world.procs
            )
            channels = tuple(
                self._ordered(tuple(mail._replace(left=max(0, mail.left - 1)) for mail in channel))
                for channel in world.channels
            )
            yield Move(("advance",), world._replace(procs=procs, channels=channels), ("advance",))

    def _overdue(self, world: World) -> bool:
        """True if an event of a process that is not paused has no time left."""
        for place, proc in enumerate(world.procs):
            if proc.paused:
                continue
            mails = [mail for channel in world.channels[place :: len(self.ids)] for mail in channel]
            must = [proc.stay, *(latest for _, _, latest in proc.timers), *(mail.left for mail in mails)]
            if 0 in must:
                return True
        return False

    # Steps of the processes and of the network.

    def _own(self, world: World, place: int) -> Iterator[Move]:
        proc = world.procs[place]
        if not proc.alive:
            return
        if proc.paused:
            yield Move(("resume", place), world.with_proc(place, proc._replace(paused=False)), ("resume", place))
            return
        if proc.phase == "inside":
            left = world.with_proc(place, proc._replace(phase="idle", token=None, stay=None))
            for after, again in self._call(left, place, "on_done"):
                yield Move(("leave", place), after, ("leave", place), again)
        elif proc.phase == "idle" and proc.left:
            less = proc._replace(left=proc.left - (proc.left > 0))
            if self.rules.algorithm.role == "mutex":
                waits = world.with_proc(place, less._replace(phase="waiting"))
                for after, again in self._call(waits, place, "on_want"):
                    yield Move(("want", place), after, None, again)
            else:
                for after, again in self._call(world.with_proc(place, less), place, "on_elect"):
                    yield Move(("elect", place), after, ("elect", place), again)
        for timer in [timer for timer in sorted(proc.timers) if timer[1] == 0]:
            name = timer[0]
            run_out = world.with_proc(place, proc._replace(timers=proc.timers - {timer}))
            for after, again in self._call(run_out, place, f"on_timer_{name}"):
                yield Move(("fire", place, name), after, ("fire", place, name), again)

    def _mail(self, world: World, channel: int) -> Iterator[Move]:
        sender, place = divmod(channel, len(self.ids))
        mails = world.channels[channel]
        for mail in mails[:1] if self.rules.fifo else dict.fromkeys(mails):
            at, message = mails.index(mail), mail.content
            rest = world._replace(channels=put(world.channels, channel, mails[:at] + mails[at + 1 :]))
            fair = ("deliver", channel) if self.rules.fifo else ("deliver", channel, mail)
            if world.is_cut(channel):
                yield Move(("sever", channel, mail), rest, fair)
                continue
            if world.procs[place].paused:
                continue
            if not world.procs[place].alive:
                yield Move(("drop", channel, mail), rest, fair)
                continue
            name = "on_" + _snake(message[0].__name__)
            for after, again in self._call(rest, place, name, thaw(message), self.ids[sender]):
                yield Move(("deliver", channel, mail), after, fair, again)
            if sender != place and world.remaining("losses"):
                yield Move(("lose", channel, mail), rest.spent("losses"), None)
            if sender != place and world.remaining("duplicates"):
                copied = world.spent("duplicates")
                for after, again in self._call(copied, place, name, thaw(message), self.ids[sender]):
                    yield Move(("duplicate", channel, mail), after, None, again)

    def _detector(self, world: World, place: int) -> Iterator[Move]:
        proc = world.procs[place]
        for other, peer in enumerate(self.ids):
            if other == place or not proc.alive or proc.paused:
                continue
            alive, told = world.procs[other].alive, peer in proc.told
            if told and alive:
                knows = world.with_proc(place, proc._replace(told=proc.told - {peer}))
                for after, again in self._call(knows, place, "on_trust", peer, optional=True):
                    yield Move(("trust", place, peer), after, ("trust", place, peer), again)
            last_words = self.rules.timed and self._has_last_words(world, other)
            mistaken = alive and not told and world.remaining("mistakes")
            if not told and ((not alive and not last_words) or mistaken):
                base = world.spent("mistakes") if alive else world
                knows = base.with_proc(place, proc._replace(told=proc.told | {peer}))
                for after, again in self._call(knows, place, "on_suspect", peer, optional=True):
                    yield Move(("suspect", place, peer), after, None if alive else ("suspect", place, peer), again)

    def _has_last_words(self, world: World, place: int) -> bool:
        """True if a message of a process is in transit, except a late one that waits for a paused process."""
        return any(
            mail.left or not receiver.paused
            for to, receiver in enumerate(world.procs)
            for mail in world.channels[place * len(self.ids) + to]
        )

    def _faults(self, world: World, place: int) -> Iterator[Move]:
        proc = world.procs[place]
        if proc.alive and not proc.paused and world.remaining("pauses"):
            yield Move(("pause", place), world.spent("pauses").with_proc(place, proc._replace(paused=True)), None)
        if proc.alive and world.remaining("crashes"):
            yield Move(("crash", place), world.spent("crashes").with_proc(place, self._dead(proc)), None)
        if not proc.alive and world.remaining("recoveries"):
            for memory in (True, False) if self.rules.amnesia else (True,):
                back = proc._replace(alive=True, fields=proc.fields if memory else self.blank)
                for after, again in self._call(world.spent("recoveries").with_proc(place, back), place, "on_recover"):
                    yield Move(("recover", place, memory), after, None, again)
        if proc.phase == "waiting" and not proc.paused and world.remaining("withdrawals"):
            retracts = self.rules.algorithm.on_withdraw is not Mutex.on_withdraw  # type: ignore[attr-defined]
            gone = proc._replace(phase="idle" if retracts else "withdrawn")
            for after, again in self._call(world.spent("withdrawals").with_proc(place, gone), place, "on_withdraw"):
                yield Move(("withdraw", place), after, None, again)

    def _dead(self, proc: Proc) -> Proc:
        fields = self.blank
        if self.rules.budget.get("recoveries"):
            pairs = zip(self.names, proc.fields, self.blank, strict=True)
            fields = tuple(old if name in self.kept else new for name, old, new in pairs)
        return Proc(fields, alive=False, left=proc.left, led=proc.led, spoke=proc.spoke)

    # Handlers.

    def _call(self, world: World, place: int, name: str, *event: Any, optional: bool = False) -> set[Outcome]:
        """Run a handler for every sequence of choices."""
        handler = getattr(self.rules.algorithm, name, None)
        if handler is None:
            if optional:
                return {(world, frozenset())}
            raise AttributeError(name)
        found, scripts = set(), [()]  # type: set[Outcome], list[tuple[int, ...]]
        while scripts:
            script = scripts.pop()
            proc = world.procs[place]
            prepare = partial(self._prepared, place, proc, script)
            body, io = prepare()
            handler(body, *event, io)
            again = frozenset(("fire", place, timer) for timer, _, _ in proc.timers if timer in io.set_anew)
            found.add((self._outcome(world, place, body, io), again))
            if world.remaining("crashes_inside"):
                for half, so_far in halves(prepare, lambda body, io: handler(body, *event, io), self._durable):
                    after = self._outcome(world, place, half, so_far).spent("crashes_inside")
                    found.add((after.with_proc(place, self._dead(after.procs[place])), frozenset()))
            taken = [*script, *[0] * (len(io.asked) - len(script))]
            for at in range(len(script), len(io.asked)):
                scripts += [(*taken[:at], option) for option in range(1, io.asked[at])]
        return found

    def _prepared(self, place: int, proc: Proc, script: tuple[int, ...]) -> tuple[Process, Effects]:
        io = Effects(self.rules, self.tick, self.ids[place], proc.timers, script)
        return self.rules.algorithm(**{n: thaw(v) for n, v in zip(self.names, proc.fields, strict=True)}), io

    def _durable(self, body: Process) -> tuple[Frozen, ...]:
        return tuple(freeze(getattr(body, name)) for name in marked(self.rules.algorithm, DURABLE))

    def _outcome(self, world: World, place: int, body: Process, io: Effects) -> World:
        me, proc = self.ids[place], world.procs[place]
        for granted in io.entered:
            if proc.phase in ("waiting", "withdrawn"):
                proc = proc._replace(phase="inside", token=granted, stay=self.longest_stay)
        for leader, term in io.named:
            proc = proc._replace(view=None if leader is None else (leader, term))
            if leader == me:
                proc = proc._replace(led=proc.led | {term})
        if self.remembers and (io.sent or any(leader is not None for leader, _ in io.named)):
            proc = proc._replace(spoke=True)
        after = proc._replace(
            fields=self._fields(body), timers=frozenset((name, *left) for name, left in io.timers.items())
        )
        channels = world.channels
        for to, message in io.sent:
            channel = place * len(self.ids) + self.ids.index(to)
            if world.is_cut(channel):
                continue
            mails = (*channels[channel], Mail(freeze(message), self.delay))
            channels = put(channels, channel, self._ordered(mails))
        return world.with_proc(place, after)._replace(channels=channels)

    def _ordered(self, mails: tuple[Mail, ...]) -> tuple[Mail, ...]:
        return mails if self.rules.fifo else tuple(sorted(mails, key=repr))

    def _fields(self, body: Process) -> tuple[Frozen, ...]:
        return tuple(freeze(getattr(body, name)) for name in self.names)


def _snake(name: str) -> str:
    """VoteForMe becomes vote_for_me."""
    parts = [("_" if at and letter.isupper() and not name[at - 1].isupper() else "") + letter.lower()
             for at, letter in enumerate(name)]  # fmt: skip
    return "".join(parts)
