"""Every entry of the map in docs/sources.md exists: its command is understood, its scenario, test and page are there.

Commands that end in a second or two are run here. The others start servers, or take long: the test that the same row names
runs what they show, so here only their options are checked.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from vez.cli.app import app, run

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/sources.md"
COLUMNS = ("item", "command", "scenario", "test", "page")
QUICK = ("sim", "check", "compare", "quorum", "timeout", "threads", "zoo", "algorithms")
SLOW = (
    "false-sharing",
    "thread-pool",
    "any-release",
)  # seconds of sleep or of search; their tests take smaller numbers


SECTIONS = {
    "Camargos, *Concorrência*": (
        "asyncio", "Cliente", "Single-threaded", "Thread per request", "Thread pool", "Estágios", "seda", "ioasync", "Desafios",
        "Estado", "Sessão", "Falhas", "Stateless x Stateful", "POSIX", "Python", "Java", "contador", "`synchronized`", "Namer",
        "bloco synchronized", "Sinalização", "Locks", "BlockingQueue", "ConcurrentMap", "Tipos Atômicos", "ThreadLocal",
        "ExecutorService", "Future", "invokeAny", "ForkJoinPool", "ScheduledExecutorService", "Anel Multithread",
    ),
    "Camargos, *Coordenação*": (
        "Exclusão Mútua", "Coordenador", "Anel", "Lidando com Falhas", "Impossibilidade de detecção de falhas", "Quórum",
        "footnote *id*", "Perda de memória", "P_v", "Contras", "TODO", "Eleição de Líderes", "guptaetal",
        "Algoritmo do Brigão (Bully)", "Algoritmo do Anel 1", "Algoritmo do Anel 2", "Algoritmo de Chang e Robert",
        "changrobert", "Quantidade de mensagens", "Algoritmo de Franklin", "Algoritmo do YoYo", "Split-brain", "Estabilidade",
        "Detecção de falhas",
    ),
    "Camargos, *Coordenação* (early version)": (
        "Quórum", "Algoritmo do Brigão", "Algoritmo do Anel", "Algoritmo de Chang & Robert", "Algoritmo do YoYo",
        "Questões importantes",
    ),
    "*GBC074* slides": ("Exemplos com threads", "Onde colocar o lock?", "Algoritmo do Anel 1", "Algoritmo de Franklin"),
    "*Resumos LEIC*, *Coordenação e Consenso*": (
        "ME1, ME2, ME3", "Algoritmo do servidor central", "Algoritmo baseado em anel", "Algoritmo de Ricart and Agrawala",
        "the warning", "Algoritmo de Maekawa", "Propriedade fundamental", "deadlock-prone", "Comparação dos algoritmos",
        "E1, E2", "Eleição em anel", "Eleição em anel por torneio", "Algoritmo Bully", "Algoritmo do Luís", "Bully vs Luís",
        "Deteção de falhas", "alguma-vez",
    ),
}  # fmt: skip
"""Sections, exercises, footnotes and boxes of the texts, as they are called there."""


def rows() -> list[dict[str, str]]:
    text = PAGE.read_text(encoding="utf-8").partition("## The map")[2]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    return [dict(zip(COLUMNS, row, strict=True)) for row in cells if row[0] != "item" and not row[0].startswith("---")]


def commands() -> list[str]:
    return sorted({row["command"].strip("`") for row in rows()})


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["item"])
def test_the_entry_exists(row: dict[str, str]) -> None:
    assert all(row.values())
    for link in re.findall(r"\]\(([^)]+)\)", row["scenario"] + row["page"]):
        assert (PAGE.parent / link).is_file(), link
    file, _, name = row["test"].strip("`").partition("::")
    assert re.search(rf"^(async )?def {re.escape(name)}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", commands())
def test_the_command_is_understood(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "vez"
    with click.Context(app, info_name="vez") as context:
        _, found, rest = app.resolve_command(context, arguments)
        assert found is not None
        found.make_context(arguments[0], rest, parent=context)


@pytest.mark.parametrize(
    "command", [command for command in commands() if command.split()[1] in QUICK and command.split()[2] not in SLOW]
)
def test_the_command_runs(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run(shlex.split(command)[1:]) in (0, 1)  # 1: a property is broken, which is often the point
    assert capsys.readouterr().out


@pytest.mark.parametrize("text", SECTIONS)
def test_the_map_has_every_section_of_the_text(text: str) -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"### {text}\n")
    items = [line.split(" | ")[0] for line in rest.partition("\n### ")[0].splitlines() if line.startswith("| ")]
    assert [section for section in SECTIONS[text] if not any(section in item for item in items)] == []


def test_the_map_has_every_text() -> None:
    texts = re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert texts == list(SECTIONS)
    assert len(rows()) >= 110
