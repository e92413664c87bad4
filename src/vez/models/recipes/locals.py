"""Locals that still matter: which local variables of a generator can be read again before they are written.

What a recipe was told two steps ago often stays in a local that nothing reads any more. Such values would make many
states of one, so they are left out of the name of a position.
"""

from __future__ import annotations

import dis
import types
from functools import cache


@cache
def live_locals(code: types.CodeType, at: int) -> frozenset[str]:
    """The locals that may be read after the instruction at this offset, whether it goes on or raises."""
    return _after(code).get(at, frozenset()) | frozenset((*code.co_cellvars, *code.co_freevars))


@cache
def _after(code: types.CodeType) -> dict[int, frozenset[str]]:
    """For each instruction: the locals that are live after it. Backwards, until nothing changes."""
    instructions = list(dis.get_instructions(code))
    following = _following(code, instructions)
    before: dict[int, frozenset[str]] = {one.offset: frozenset() for one in instructions}
    after = dict(before)
    changed = True
    while changed:
        changed = False
        for one in reversed(instructions):
            live = frozenset[str]().union(*(before[offset] for offset in following[one.offset]))
            reads, writes = _touches(one)
            needed = reads | (live - writes)
            after[one.offset] = live
            if needed != before[one.offset]:
                before[one.offset], changed = needed, True
    return after


def _following(code: types.CodeType, instructions: list[dis.Instruction]) -> dict[int, list[int]]:
    """For each instruction, those that may come next: the next one, the target of a jump, the handler of an error."""
    handlers = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    following: dict[int, list[int]] = {}
    for place, one in enumerate(instructions):
        jumps_always = one.opname.startswith("JUMP_") and "IF" not in one.opname
        ends = jumps_always or one.opname in ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
        found = [] if ends or place + 1 == len(instructions) else [instructions[place + 1].offset]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            found.append(one.argval)
        found += [entry.target for entry in handlers if entry.start <= one.offset < entry.end]
        following[one.offset] = found
    return following


def _touches(one: dis.Instruction) -> tuple[frozenset[str], frozenset[str]]:
    """The locals that an instruction reads and writes. One that does both, or anything unknown, counts as reading."""
    if "_FAST" not in one.opname:
        return frozenset(), frozenset()
    names = frozenset(one.argval if isinstance(one.argval, tuple) else (one.argval,))
    only_writes = one.opname == "STORE_FAST"
    return (frozenset(), names) if only_writes else (names, frozenset())
