"""The zoo: plausible mistakes, each in an algorithm that is right but for it.

They are exercises (`vez zoo`) and they keep the judges honest: the simulator must catch every one of them
within a bounded number of seeds, and must not accuse the right algorithm in the same world. A specimen is a
subclass that overrides no more than the mistake needs. Imports `vez.algorithms`, `vez.core` and `vez.sim`.
"""

from __future__ import annotations

from vez.errors import UnknownName
from vez.zoo import coordinators, elections, lamport, maekawa, ricart_agrawala, ring_elections, tokens
from vez.zoo.specimen import PREFIX, Specimen

ZOO: dict[str, Specimen] = {
    specimen.name: specimen
    for family in (coordinators, tokens, lamport, ricart_agrawala, maekawa, ring_elections, elections)
    for specimen in family.SPECIMENS
}


def find_specimen(name: str) -> Specimen:
    """The specimen of that name, with or without the prefix; an unknown name gets the nearest ones as a hint."""
    try:
        return ZOO[name.removeprefix(PREFIX)]
    except KeyError:
        raise UnknownName("specimen", name, ZOO) from None


__all__ = ["PREFIX", "ZOO", "Specimen", "find_specimen"]
