"""The zoo: correct algorithms, each with one plausible mistake added.

They are exercises (`vez zoo`), and they test the judges: the simulator must find every mistake within a bounded number
of seeds, and must find none in the correct algorithm in the same world. A specimen is a subclass that overrides only
what the mistake needs.

    specimen          the description of one wrong algorithm
    texts             versions of the course notes that differ from the catalogue
    other modules     the specimens, by the algorithms that they change

Imports the algorithms, `vez.core` and `vez.worlds.sim`.
"""

from __future__ import annotations

from vez.catalogue.zoo import coordinators, elections, lamport, maekawa, ricart_agrawala, ring_elections, texts, tokens
from vez.catalogue.zoo.specimen import PREFIX, Specimen
from vez.core import Process
from vez.errors import UnknownName

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
