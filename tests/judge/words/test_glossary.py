"""The glossary has the terms of the texts, and the files and names in it exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from vez.catalogue.algorithms import ALGORITHMS
from vez.cli.app import COMMANDS
from vez.cli.threads_measured import EXHIBITS
from vez.core import Message
from vez.core.assumptions import Assumption, Property
from vez.judge.words.names import PROPERTIES, STATUSES
from vez.threads.programs import PROGRAMS

PAGE = (Path(__file__).parents[3] / "docs/glossary.md").read_text(encoding="utf-8")
TABLES = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
ROWS = [[cell.strip() for cell in row] for row in TABLES]
NAMED = sorted({name for row in ROWS for cell in row[2:] for name in re.findall(r"`([^`]+)`", cell)})
OTHERS = {"Durable", "memory = false"}
TERMS = (
    "RequestAccess", "ResponseOK", "RequestFree", "ResponseFree", "ELEICAO", "OK", "COORD", "VoteEmMim", "HabemosLider",
    "Permissão de Acesso", "S, N", "ME1", "ME2", "ME3", "E1", "E2", "ativo, inativo", "torneio", "Anel 1", "Anel 2",
    "interbloqueio", "espera ocupada", "condição de corrida", "thread-safe", "estágio", "stateless", "stateful",
    "lock-step", "*enter*", "*exit*", "handle", "IPC", "PID", "multithreading", "deadlock-free", "deadlock-prone",
    "memória estável", "Luís", "chave", "quórum", "falso compartilhamento", "afinidade", "mandato", "peso", "brigão",
    "vertedouro", "seguidor", "empossado", "inanição", "espera limitada", "putIfAbsent", "ThreadLocal", "invokeAny",
    "ForkJoinPool", "scheduleAtFixedRate", "daemon", "isAlive", "volatile", "perda de memória", "split-brain",
)  # fmt: skip


@pytest.mark.parametrize("term", TERMS)
def test_a_reader_of_the_texts_finds_the_term(term: str) -> None:
    assert any(term in row[0] for row in ROWS)


@pytest.mark.parametrize("name", NAMED)
def test_what_is_named_exists(name: str) -> None:
    words = name.split()
    if words[0] == "vez":
        assert words[1] in {command for group in COMMANDS.values() for command in group}
        program = words[-1].removeprefix("threads:")
        assert words[1] not in ("threads", "check") or len(words) == 2 or program in {*PROGRAMS, *EXHIBITS}
    else:
        known = {*ALGORITHMS, *map(str, Property), *map(str, Assumption), *OTHERS}
        assert name in known


def test_luis_is_the_largest_as_in_the_text() -> None:
    assert ["algoritmo do Luís", "the largest that is not suspected", "`luis`"] in ROWS


def test_messages_are_those_of_the_algorithms() -> None:
    found = 0
    for row in ROWS[-14:]:
        messages = re.findall(r"`(\w+)`", row[1])
        for algorithm in re.findall(r"`([\w-]+)`", row[2]):
            module = vars(sys.modules[ALGORITHMS[algorithm].__module__])
            known = {name for name, one in module.items() if isinstance(one, type) and issubclass(one, Message)}
            assert set(messages) <= known, (row, algorithm)
            found += len(messages)
    assert found > 30


def test_portuguese_names_of_properties_are_those_of_the_glossary() -> None:
    english = {row[2].strip("`"): row[0] for row in ROWS if len(row) > 2}
    for name in (
        "exclusion",
        "starvation_freedom",
        "bounded_waiting",
        "uniqueness",
        "termination",
        "agreement",
        "stability",
    ):
        assert PROPERTIES[name][1] in english[name]
    verdicts = " ".join(row[0] for row in ROWS if len(row) == 2)
    assert all(STATUSES[status][1] in verdicts for status in ("holds", "broken", "undecided", "not judged"))
