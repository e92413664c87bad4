"""`VEZ_LANG=pt`: verdicts, broken assumptions and the reason why a search stopped are in Portuguese; JSON does not
change."""

from __future__ import annotations

import json

import pytest

from vez.cli.app import run
from vez.cli.printing.language import language
from vez.core.assumptions import Assumption
from vez.judge.words import assumption_name


@pytest.mark.parametrize(
    ("value", "spoken"),
    [("", "en"), ("en", "en"), ("pt", "pt"), ("pt_BR.UTF-8", "pt"), ("pt-PT", "pt"), ("PT", "pt"), ("fr", "en"), ("ptx", "en")],
)  # fmt: skip
def test_the_language_is_that_of_the_variable(value: str, spoken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEZ_LANG", value)
    assert language() == spoken


def told(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, code: int) -> str:
    monkeypatch.setenv("VEZ_LANG", "pt")
    monkeypatch.setenv("COLUMNS", "200")
    assert run(line.split()) == code
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("check token-ring --requests 1", 0, "exclusão mútua vale em todos os 108 estados"),
        ("check token-ring", 0, "prometida, mas julgada só a pedido: bounded_waiting (--property bounded_waiting)"),
        ("check token-ring", 0, "justiça: no fim, mensagens chegam, estadias terminam; pedidos e falhas podem nunca"),
        ("check token-ring", 0, "sem execução nestes estados, logo sem verificação: on_recover, on_withdraw"),
        ("check recipe:etcd-lock --max-states 200", 2, " abstraído: process 1 is the server"),
        ("check bully --max-states 500", 2, "parada: além do limite de 500 estados (--max-states)"),
        ("check ricart-agrawala-priority --first", 1, "parada na primeira violação (--first)"),
        ("sim bully --pause 2@3+4", 0, "não respeitou uma hipótese: limites de tempo conhecidos (o processo 2: pausa)"),
        ("sim coordinator --crash 1@5", 1, "hipótese: sem falhas (o processo 1: falha)"),
        ("sim token-ring --loss 1", 1, "canais confiáveis (mensagens: 1 perdidas)"),
        ("check quorum -n 2", 0, "quorum n=2, 1 pedido de cada um, entrega em qualquer ordem, sem falhas"),
        (
            "check quorum -n 2",
            0,
            "a execução mais curta que viola ausência de deadlocks, 8 passos: 1 o processo 2 quer",
        ),
        ("check quorum -n 2", 0, "o processo 2 recebe Request(1) do processo 2"),
        ("check quorum -n 2", 0, "daqui não há volta: toda continuação falha"),
        (
            "check bully -n 2 --crashes 1 --recoveries 1",
            1,
            "mensagens levam até 2 ms, tiques de 2 ms, 1 falha, 1 volta",
        ),
        ("check bully -n 2 --crashes 1 --recoveries 1", 1, "é avisado de que o processo 2 está morto"),
        ("check coordinator-lease --pauses 1", 1, "passam 2 ms 5 o processo 2 quer entrar"),
        ("check token-ring --partitions 1 -n 2", 1, "o processo 1 de um lado, o processo 2 do outro"),
        (
            "sim --scenario scenarios/06-quorum-amnesia.toml",
            0,
            "O coordenador 2 perde a memória: dois dentro quorum 5 pro",
        ),
        ("sim --scenario scenarios/06-quorum-amnesia.toml", 0, "os processos Part1 (4) e Part2 (5) estiveram dentro"),
        ("sim --scenario scenarios/06-quorum-amnesia.toml", 0, "quem para não volta (o processo Coord2: volta após a"),
        ("sim coordinator", 0, "5 processos, estrela, semente 0; fim em"),
        (
            "sim coordinator",
            0,
            "atraso do cliente 2 ms (média de 2 entradas livres, de 2 a 2) sincronização 2 ms (média",
        ),
        ("sim bully", 0, "líder 5 mais ocupado 5, com 29% de todos os envios e recepções"),
        ("check threads:two-locks", 1, "violada ausência de deadlocks: T1, T2 esperam para sempre"),
        ("check threads:two-locks", 1, "o entrelaçamento mais curto que viola ausência de deadlocks, 2 passos:"),
        ("check threads:two-locks", 1, "um ciclo: T1 → lock1 → T2 → lock2 → T1"),
        ("threads fork-join", 0, "como afirmado: the sum is 2080"),
        ("sim bully", 0, "propriedade veredito evidência"),
        ("sim bully", 0, "nada mais a acontecer"),
    ],
)
def test_in_portuguese(
    line: str, code: int, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in told(line, monkeypatch, capsys, code=code)


def test_json_is_the_same_in_every_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for spoken in ("en", "pt"):
        monkeypatch.setenv("VEZ_LANG", spoken)
        assert run(["sim", "bully", "--pause", "2@3+4", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["broken_assumptions"] == {"known_bounds": "process 2 stood still"}


@pytest.mark.parametrize("assumption", Assumption)
def test_every_assumption_has_a_portuguese_name(assumption: Assumption) -> None:
    assert assumption_name(assumption, "pt") != assumption_name(assumption, "en") == assumption
