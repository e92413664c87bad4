"""Hope: the worlds from which a run can still keep a property, by fixpoints over sets, without components.

An endless run from a world is fair, and keeps the property for ever, if the world is in the greatest set from every
member of which each of some marked kinds of steps can be reached and taken within the set (Emerson and Lei, LICS 1986).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.worlds.crosscheck.cases import FAULTS
from tests.worlds.crosscheck.explorer import Explorer
from tests.worlds.crosscheck.world import Mail, Move, Proc, World, freeze
from vez.worlds.check.model.configuration import BUDGETS
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State

Marked = Callable[[World, Move], bool]
PHASES = {0: "idle", 1: "waiting", 2: "inside", 3: "withdrawn"}


def hopeful(explorer: Explorer, name: str) -> set[World]:
    """The worlds with a continuation that keeps the property."""
    everything = set(explorer.moves)
    ends = {world for world, moves in explorer.moves.items() if all(move.fair is None for move in moves)}
    safety = explorer._safety()
    if name in safety:
        good = {world for world in everything if not safety[name](world)}
        return _reaching(explorer, (ends & good) | _for_ever(explorer, good, ()), good)
    fails = explorer._bad_ends()[name]
    goal = {world for world in ends if not fails(world)}
    if name in ("agreement", "validity"):
        goal |= _for_ever(explorer, {world for world in everything if not fails(world)}, ())
    else:
        goal |= _for_ever(explorer, everything, _again_and_again(explorer, name))
    return _reaching(explorer, goal, everything)


def _again_and_again(explorer: Explorer, name: str) -> list[Marked]:
    """The kinds of steps that an endless run must take infinitely often to keep the property."""
    if name == "starvation_freedom":
        places = range(len(explorer.semantics.ids))
        return [lambda world, move, place=place: world.procs[place].phase != "waiting" for place in places]  # type: ignore[misc]
    if name == "termination":
        return [lambda world, move: not explorer.owes_a_leader(world)]
    return [lambda world, move: _nobody_waits(world) or _somebody_gets_in(world, move)]


def _for_ever(explorer: Explorer, worlds: set[World], marked: Iterable[Marked]) -> set[World]:
    """The worlds from which a fair run can stay among these for ever and take each kind of step again and again."""
    enabled = {world: {move.fair for move in explorer.moves[world]} - {None} for world in worlds}
    classes = set().union(*enabled.values())
    kinds: list[Marked] = [
        lambda world, move, fair=fair: fair not in enabled[world] or fair == move.fair or fair in move.postponed  # type: ignore[misc]
        for fair in sorted(classes, key=repr)
    ]
    kinds += [*marked, lambda world, move: True]
    left = set(worlds)
    while True:
        before = len(left)
        for kind in kinds:
            taking = {
                world for world in left if any(move.to in left and kind(world, move) for move in explorer.moves[world])
            }
            left &= _reaching(explorer, taking, left)
        if len(left) == before:
            return left


def _reaching(explorer: Explorer, goal: set[World], within: set[World]) -> set[World]:
    found = set(goal)
    while True:
        more = {
            world
            for world in within - found
            if any(move.to in found and move.to in within for move in explorer.moves[world])
        }
        if not more:
            return found
        found |= more


def _nobody_waits(world: World) -> bool:
    return all(proc.phase != "waiting" for proc in world.procs)


def _somebody_gets_in(world: World, move: Move) -> bool:
    pairs = zip(world.procs, move.to.procs, strict=True)
    return any(old.phase != "inside" and new.phase == "inside" for old, new in pairs)


def world_of(model: Model, state: State) -> World:
    """A state of the checker, converted to a world of the explorer."""
    procs = []
    for number in state.locals:
        local = model.locals[number]
        procs.append(
            Proc(
                fields=tuple(map(freeze, local.fields)),
                alive=local.alive,
                left=local.left,
                phase=PHASES[local.phase],
                token=local.token,
                view=local.view,
                led=frozenset(local.led),
                timers=frozenset((name, *left) for name, left in local.timers),
                told=frozenset(local.told),
                paused=local.paused,
                spoke=local.took_part,
            )
        )
    channels = []
    for content in state.channels:
        frozen = tuple(Mail(freeze(model.messages[number])) for number in content)
        channels.append(frozen if model.fifo else tuple(sorted(frozen, key=repr)))
    left = dict(zip(BUDGETS, state.budget, strict=True))
    budget = tuple(sorted((name, left[name]) for name in FAULTS))
    cuts = frozenset(model.cuts[cut] for cut in model.partitions.sets[state.partition])
    return World(tuple(procs), tuple(channels), budget, cuts)
