"""Words that come from an algorithm: its statuses, remarks and messages, with the names of processes, in a language.

An algorithm writes them in English, phrase by phrase: `WANTED, voted for 1, queue [3]`. The table has the phrases of
the catalogue and of the worlds; `{}` stands for any text. A phrase that is not in it stays as it is. The states
RELEASED, WANTED and HELD, kinds of messages and names of timers also stay: the Portuguese course notes write them so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from vez.core.process_ids import pieces, with_names
from vez.core.trace import Noted, Sent, Status, spoken
from vez.judge.words.sentence import NO_NAMES, Language

PHRASES: dict[str, str] = {
    # States.
    "ACTIVE": "ATIVO", "BACKING_OFF": "RECUANDO", "CANDIDATE": "CANDIDATO", "FOLLOWER": "SEGUIDOR", "LEADER": "LÍDER",
    "OUTSIDE": "FORA", "RETURNING": "VOLTANDO", "WAITING": "ESPERANDO",
    "active": "ativo", "candidate": "candidato", "collecting": "coletando", "defeated": "derrotado",
    "elected": "eleito", "follower": "seguidor", "idle": "ocioso", "in office": "no cargo",
    "internal": "interno", "inviting": "convidando", "joining": "aderindo", "leader": "líder", "passive": "passivo",
    "pruned": "podado", "relay": "repassa", "root": "raiz", "sink": "vertedouro", "source": "fonte", "token": "token",
    # Phrases with values.
    "{} at {}": "{} em {}", "awaits {}": "aguarda {}", "born {}": "nascido em {}",
    "draws {} in round {}": "sorteia {} na rodada {}",
    "follows {}": "segue {}", "group {}": "grupo {}", "holds {}": "tem {}", "last {}": "último {}",
    "leader is {}": "líder é {}", "next {}": "próximo {}", "permissions {}": "permissões {}", "phase {}": "fase {}",
    "queue {}": "fila {}", "round {}": "rodada {}", "takes over": "assume", "term {}": "mandato {}",
    "voted for {}": "votou em {}",
    # The resource, as its coordinator sees it.
    "busy": "ocupado", "coordinates: {}": "coordena: {}", "free": "livre", "granted {}": "concedido a {}",
    "held by {}": "com {}", "lease {}": "prazo {}", "lease {} ran out": "o prazo {} venceu", "{} inside": "{} dentro",
    "processes the request of {}": "processa o pedido de {}", "waits for a request": "espera um pedido",
    # Remarks of the worlds.
    "in the queue": "na fila", "was let in": "recebeu acesso", "but does not want in": "mas não quer entrar",
    "but is inside already": "mas já está dentro",
}  # fmt: skip
"""English phrase → Portuguese phrase."""

FIELDS: dict[str, str] = {
    "no": "não", "prune": "podar", "rightward": "à direita", "unique": "único", "wants": "quer", "without": "sem",
    "yes": "sim",
}  # fmt: skip
"""English words in the values of messages → Portuguese words."""

_PRIVATE = range(0xE000, 0xF900)
"""Code points without a meaning. Those that a text does not use stand for its identifiers while it is translated."""
_MARK = re.compile(r", |[\[{(]|[\]})]")
_DEEPEST = 8
"""How many phrases inside each other are translated; those of the table are at most three deep. A remark of a trace
from elsewhere may be of any length: `x at x at x at ...`."""


def remark_words(event: Status | Noted, language: Language, names: Mapping[int, str] = NO_NAMES) -> str:
    """A status or a remark."""
    if language == "en" and not (names and event.ids):
        return event.text
    used = set(event.text)
    free = (chr(code) for code in _PRIVATE if chr(code) not in used)
    stand_ins: dict[str, str] = {}
    text = ""
    for part in pieces(event.text, event.ids):
        if isinstance(part, str):
            text += part
        else:
            name = names.get(part, str(part))
            sign = next(free, name)
            stand_ins[sign] = name
            text += sign
    text = text if language == "en" else _translated(text)
    return "".join(stand_ins.get(char, char) for char in text)


def message_words(
    sent: Sent, identifiers: Mapping[str, Sequence[str]], language: Language, names: Mapping[int, str] = NO_NAMES
) -> str:
    """A message in short notation. `identifiers` are those of the header."""
    fields: dict[str, Any] = with_names(sent.fields, identifiers.get(sent.kind, ()), names)
    return spoken(sent.kind, fields, str if language == "en" else _field_word)


def _field_word(word: str) -> str:
    return FIELDS.get(word, word)


def _translated(text: str) -> str:
    return ", ".join(_phrase(phrase, _DEEPEST) for phrase in split(text))


def split(text: str) -> list[str]:
    """The phrases of a text, in time linear in its length. A comma inside brackets ends no phrase: the next bracket
    after it closes."""
    commas: list[int] = []
    unsure = 0  # the commas from here on are inside if the next bracket closes
    for mark in _MARK.finditer(text):
        sign = mark.group()
        if sign == ", ":
            commas.append(mark.start())
            continue
        if sign in "]})":
            del commas[unsure:]
        unsure = len(commas)
    starts = [0, *(comma + 2 for comma in commas)]
    return [text[start:end] for start, end in zip(starts, [*commas, len(text)], strict=True)]


def _phrase(phrase: str, deepest: int) -> str:
    """A phrase in Portuguese; its values may be phrases themselves, up to this depth."""
    known = PHRASES.get(phrase)
    if known is not None:
        return known
    for pattern, template in _patterns() if deepest else ():
        found = pattern.fullmatch(phrase)
        if found:
            return template.format(*(_phrase(value, deepest - 1) for value in found.groups()))
    return phrase


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The phrases with values, longer ones first: `lease 2 ran out` is no `lease {}`."""
    known = sorted((english for english in PHRASES if "{}" in english), key=len, reverse=True)
    return tuple((re.compile("(.+)".join(map(re.escape, one.split("{}"))), re.DOTALL), PHRASES[one]) for one in known)
