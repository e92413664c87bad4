"""Names of properties and verdicts in English and Portuguese. The Portuguese names are those of the course notes."""

from __future__ import annotations

from vez.judge.words.assumptions import NAMES
from vez.judge.words.sentence import LANGUAGES, Language

PROPERTIES: dict[str, tuple[str, str]] = {
    "exclusion": ("exclusion", "exclusão mútua"),
    "deadlock_freedom": ("deadlock freedom", "ausência de deadlocks"),
    "starvation_freedom": ("starvation freedom", "não-inanição"),
    "bounded_waiting": ("bounded waiting", "espera limitada"),
    "request_order": ("request order", "ordem dos pedidos"),
    "fenced_exclusion": ("fenced exclusion", "exclusão por fichas"),
    "uniqueness": ("uniqueness", "unicidade"),
    "termination": ("termination", "terminação"),
    "agreement": ("agreement", "acordo"),
    "stability": ("stability", "estabilidade"),
    "validity": ("validity", "validade"),
    "no_exceptions": ("no exceptions", "sem exceções"),
    "tokens_increase": ("tokens increase", "fichas crescentes"),
    "no_lost_update": ("no lost update", "nenhuma atualização perdida"),
    "fork_safe": ("fork safe", "seguro sob fork"),
}
STATUSES: dict[str, tuple[str, str]] = {
    "holds": ("holds", "vale"),
    "holds in runs": ("holds in {runs:,} runs", "vale em {runs:,} execuções"),
    "holds in one run": ("holds in 1 run", "vale em 1 execução"),
    "broken": ("broken", "violada"),
    "undecided": ("undecided", "não decidida"),
    "not judged": ("not judged", "não julgada"),
}
TOPOLOGIES = {
    "complete": "rede completa",
    "graph": "grafo",
    "grid": "grade",
    "ring": "anel",
    "ring2": "anel nos dois sentidos",
    "star": "estrela",
}
"""Portuguese names of topologies; the English ones are those of options."""


def topology_name(name: str, language: Language) -> str:
    """The display name of a topology."""
    return TOPOLOGIES.get(name, name) if language == "pt" else name


def property_name(name: str, language: Language) -> str:
    """The display name of a property."""
    words = PROPERTIES.get(name)
    return name.replace("_", " ") if words is None else words[LANGUAGES.index(language)]


def assumption_name(name: str, language: Language) -> str:
    """The display name of an assumption."""
    words = NAMES.get(name)
    return name if words is None else words[LANGUAGES.index(language)]


def status_words(status: str, runs: int, language: Language) -> str:
    """A kind of verdict: `holds in 3 runs`, `broken`, …"""
    key = "holds in one run" if status == "holds in runs" and runs == 1 else status
    return STATUSES[key][LANGUAGES.index(language)].format(runs=runs)
