"""Sentence: a key and its values, which become text in a language.

Templates are those of `str.format`, with additional formats: `{end:ms}` is a time in milliseconds from microseconds,
`{who:processes}` names processes, `{ids:ids}` only their numbers, `{count:entry}` counts things, and `{parts:list}`,
`{parts:commas}` and `{parts:sides}` join sentences. A value may be a sentence itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, Literal

import msgspec

from vez.errors import UnknownName
from vez.judge.words.assumptions import ASSUMPTIONS
from vez.judge.words.checker import CHECKS
from vez.judge.words.costs import COSTS
from vez.judge.words.pictures import PICTURES
from vez.judge.words.settings import SETTINGS
from vez.judge.words.steps import STEPS
from vez.judge.words.verdicts import NOUNS, VERDICTS

Language = Literal["en", "pt"]
LANGUAGES: tuple[Language, ...] = ("en", "pt")
SENTENCES: Mapping[str, tuple[str, str]] = {
    **VERDICTS,
    **CHECKS,
    **COSTS,
    **STEPS,
    **SETTINGS,
    **ASSUMPTIONS,
    **PICTURES,
    "plain": ("{text}", "{text}"),
}
SHOWN = 8
"""The largest number of processes that are named one by one. If there are more, the first five are named."""


PROCESSES = frozenset({"process", "other", "one", "leader", "best", "peer", "first", "to"})
"""Values that are processes if the template gives no format. Scenarios may have names for them."""
NO_NAMES: Mapping[int, str] = {}
_JOINED = {"list": ("; ", "; "), "commas": (", ", ", "), "sides": (" and from ", " e ")}
"""The separator of joined sentences, in each language."""


class Sentence(msgspec.Struct, frozen=True):
    """A sentence as data. `str` returns its English text."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return self.told("en")

    def told(self, language: Language, names: Mapping[int, str] = NO_NAMES) -> str:
        """The text in a language. `names` holds the scenario's names of its processes."""
        return (Teller(language, names) if names else _TELLERS[language]).tell(self)


def said(key: str, **values: Any) -> Sentence:
    """A sentence by its key, with its values."""
    if key not in SENTENCES:
        raise UnknownName("sentence", key, SENTENCES)
    return Sentence(key, tuple(values.items()))


def plain(text: str) -> Sentence:
    """A text that has no translation, such as the message of an exception."""
    return said("plain", text=text)


def ms(us: int) -> str:
    """A time in milliseconds, without trailing zeros."""
    return f"{us / 1000:.3f}".rstrip("0").rstrip(".")


class Teller:
    """Formats sentences in one language. Templates are parsed once, because sweeps format thousands of sentences."""

    def __init__(self, language: Language, names: Mapping[int, str] = NO_NAMES) -> None:
        self.language: Language = language
        self.names = names
        self._parts: dict[str, list[tuple[str, str | None, str]]] = {}

    def tell(self, sentence: Sentence) -> str:
        """The text of a sentence."""
        parts = self._parts.get(sentence.key)
        if parts is None:
            template = SENTENCES[sentence.key][LANGUAGES.index(self.language)]
            parts = [(text, name, spec or "") for text, name, spec, _ in Formatter().parse(template)]
            self._parts[sentence.key] = parts
        values = dict(sentence.values)
        told = [text if name is None else text + self._shown(name, values[name], spec) for text, name, spec in parts]
        return "".join(told)

    def _shown(self, name: str, value: Any, spec: str) -> str:
        if isinstance(value, Sentence):
            return self.tell(value)
        if not spec:
            return self.named(value) if name in PROCESSES else str(value)
        if spec == "ms":
            return ms(value)
        if spec == "processes":
            return self._processes(value)
        if spec == "ids":
            return ", ".join(map(self.named, value))
        if spec in _JOINED:
            return _JOINED[spec][LANGUAGES.index(self.language)].join(map(self.tell, value))
        if spec in NOUNS:
            one, many = NOUNS[spec][LANGUAGES.index(self.language)]
            return f"{value:,} {one if value == 1 else many}"
        return format(value, spec)

    def _processes(self, processes: Sequence[int]) -> str:
        named = sorted(set(processes))
        article, one, many = {"en": ("", "process", "processes"), "pt": ("o", "processo", "processos")}[self.language]
        if len(named) > SHOWN:
            return f"{len(named)} {many} ({', '.join(map(self.named, named[:5]))}, …)"
        before = f"{article}{'s' * (len(named) > 1)} " if article else ""
        return f"{before}{one if len(named) == 1 else many} {', '.join(map(self.named, named))}"

    def named(self, process: Any) -> str:
        """The name of a process, or its number."""
        return self.names.get(process, str(process))


_TELLERS = {language: Teller(language) for language in LANGUAGES}
