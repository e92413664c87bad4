"""Sentences about broken assumptions, and the names of the assumptions, in English and Portuguese."""

from __future__ import annotations

ASSUMPTIONS: dict[str, tuple[str, str]] = {
    "messages_lost": ("messages: {lost:,} lost", "mensagens: {lost:,} perdidas"),
    "messages_twice": ("messages: {doubles:,} delivered twice", "mensagens: {doubles:,} entregues duas vezes"),
    "messages_lost_and_twice": (
        "messages: {lost:,} lost, {doubles:,} delivered twice",
        "mensagens: {lost:,} perdidas, {doubles:,} entregues duas vezes",
    ),
    "messages_overtaken": (
        "{count:message} arrived after a later one",
        "{count:message} depois de outra, enviada mais tarde",
    ),
    "they_crashed": ("{who:processes} crashed", "{who:processes}: falha"),
    "they_came_back": ("{who:processes} came back", "{who:processes}: volta após a falha"),
    "they_forgot": ("{who:processes} came back without memory", "{who:processes}: volta sem memória"),
    "they_stood_still": ("{who:processes} stood still", "{who:processes}: pausa"),
    "their_clocks_were_off": ("{who:processes} had a clock that was off", "{who:processes}: relógio impreciso"),
    "nobody_was_told": (
        "{who:processes} crashed and nobody was told",
        "{who:processes}: falha da qual ninguém soube",
    ),
    "message_too_slow": (
        "a message took {took:ms} ms, longer than {bound:ms}",
        "uma mensagem levou {took:ms} ms, mais que {bound:ms}",
    ),
    "silent_for_too_long": (
        "process {peer} was alive and silent for too long",
        "o processo {peer} estava vivo e ficou calado por tempo demais",
    ),
    "inside_for_too_long": (
        "process {process} was inside for {took:ms} ms, longer than {bound:ms}",
        "o processo {process} ficou dentro por {took:ms} ms, mais que {bound:ms}",
    ),
    "suspected_and_alive": (
        "process {peer} was suspected and alive",
        "o processo {peer} era suspeito e estava vivo",
    ),
}
"""Texts by key; `vez.judge.properties.assumptions` uses the keys."""

NAMES: dict[str, tuple[str, str]] = {
    "reliable": ("reliable", "canais confiáveis"),
    "fifo": ("fifo", "canais em ordem"),
    "no_crashes": ("no_crashes", "sem falhas"),
    "hub_stays": ("hub_stays", "o coordenador não para"),
    "known_bounds": ("known_bounds", "limites de tempo conhecidos"),
    "bounded_stay": ("bounded_stay", "estadia limitada"),
    "unique_ids": ("unique_ids", "identificadores únicos"),
    "perfect_detector": ("perfect_detector", "detector perfeito"),
    "no_recovery": ("no_recovery", "quem para não volta"),
    "stable_storage": ("stable_storage", "memória estável"),
}
"""The names of assumptions; the English ones are those of files and options."""
