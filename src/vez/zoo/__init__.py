"""The zoo: correct algorithms, each with one plausible mistake added.

They are exercises (`vez zoo`), and they test the judges: the simulator must find every mistake within a bounded number
of seeds, and must find none in the correct algorithm in the same world. A specimen is a subclass that overrides only
what the mistake needs. Imports `vez.algorithms`, `vez.core` and `vez.sim`.
"""

from __future__ import annotations

from vez.core import Process
from vez.errors import UnknownName
from vez.zoo import coordinators, elections, lamport, maekawa, ricart_agrawala, ring_elections, texts, tokens
from vez.zoo.specimen import PREFIX, Specimen

ZOO: dict[str, Specimen] = {
    specimen.name: specimen
    for family in (coordinators, tokens, lamport, ricart_agrawala, maekawa, ring_elections, elections, texts)
    for specimen in family.SPECIMENS
}


def find_specimen(name: str) -> Specimen:
    """Return the specimen of that name, with or without the prefix; the error suggests similar names."""
    try:
        return ZOO[name.removeprefix(PREFIX)]
    except KeyError:
        raise UnknownName("specimen", name, ZOO) from None


def find_algorithm(name: str) -> type[Process]:
    """Return the algorithm of that name: a specimen, or a version of the texts that is right and costs more."""
    costly = texts.COSTLY.get(name.removeprefix(PREFIX))
    return costly or find_specimen(name).algorithm


__all__ = ["PREFIX", "ZOO", "Specimen", "find_algorithm", "find_specimen"]
