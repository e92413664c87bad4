"""Describe: a step of the model as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vez.core.message import fields_of
from vez.core.trace import spoken
from vez.judge.words import Sentence, plain, said
from vez.worlds.check.model.causality import bare
from vez.worlds.check.model.configuration import partition_words
from vez.worlds.check.model.local import Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import Step


def describe(model: Model, step: Step) -> Sentence:
    """A step in words, for people."""
    if step.kind == "advance":
        return said("time_passes", ms=step.detail / 1000)
    if step.kind in ("cut", "heal"):
        return _cut_words(model, step)
    done = step.transition
    parts = [_action(model, step)]
    parts += [_seen(seen) for seen in done.visible if seen[0] in ("enter", "elected")]
    parts += [plain(done.raised.short)] if done.raised else []
    parts += [plain(done.bug)] if done.bug else []
    parts += [said("crashes_inside", done=_so_far(done))] if done.crashed_after >= 0 else []
    return said("and_then", parts=tuple(parts)) if len(parts) > 1 else parts[0]


def describe_start(model: Model, outcomes: Sequence[Transition]) -> tuple[Sentence, ...]:
    """The processes that crash inside `on_start`, as sentences."""
    return tuple(
        said("crashes_at_start", process=process, done=_so_far(outcome))
        for process, outcome in zip(model.ids, outcomes, strict=False)
        if outcome.crashed_after >= 0
    )


def _action(model: Model, step: Step) -> Sentence:
    """The sentence about the action of the process, or about the event that it suffers."""
    kind, process = step.kind, model.ids[step.process]
    if step.message >= 0:
        message = bare(model.messages[step.message])
        what = spoken(type(message).__name__, fields_of(message))
        return said(f"step_{kind}", process=process, message=what, other=model.ids[step.other])
    if kind in ("suspect", "trust"):
        mistaken = kind == "suspect" and model.locals[step.state.locals[step.other]].alive
        return said(f"step_{kind}{'_wrongly' * mistaken}", process=process, other=model.ids[step.other])
    detail: tuple[Any, ...] = step.detail
    if kind == "fire":
        return said("step_fire", process=process, timer=detail[0])
    return said(f"step_{kind}{'_empty' * (kind == 'recover' and not detail[0])}", process=process)


def _cut_words(model: Model, step: Step) -> Sentence:
    partition = model.configuration.partitions[step.detail - 1]
    if step.kind == "heal":
        return said("step_heal", partition=partition_words(partition))
    if partition.one_way:
        ends = [tuple(sorted({channel[end] for channel in partition.one_way})) for end in (0, 1)]
        return said("step_one_way", senders=ends[0], receivers=ends[1])
    inside = {process for group in partition.groups for process in group}
    rest = tuple(process for process in model.ids if process not in inside)
    groups: list[tuple[int, ...]] = [*partition.groups, *([rest] if rest else [])]
    first, others = groups[0], groups[1:]
    return said(
        "step_cut_one" if len(first) == 1 else "step_cut_many",
        first=first,
        others=tuple(said("step_side", who=group) for group in others),
    )


def _so_far(done: Transition) -> Sentence:
    """The sentence about the actions of a handler before its process crashed."""
    if not done.crashed_after:
        return said("done_nothing")
    so_far = [said("done_sent", message=type(bare(message)).__name__, to=to) for to, message in done.sends]
    so_far += [said(f"done_{seen[0]}") for seen in done.visible if seen[0] in ("enter", "elected")]
    if len(so_far) < done.crashed_after:
        so_far.append(said("done_stored"))
    return said("done_so_far", count=done.crashed_after, parts=tuple(so_far))


def _seen(seen: tuple[Any, ...]) -> Sentence:
    if seen[0] == "enter":
        return said("seen_enter") if seen[1] is None else said("seen_enter_with", token=seen[1])
    if seen[1] is None:
        return said("seen_no_leader")
    return said("seen_leader_of", leader=seen[1], term=seen[2]) if seen[2] else said("seen_leader", leader=seen[1])
