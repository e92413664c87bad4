"""Sentences about threads that wait for each other: English phrase → Portuguese phrase."""

from __future__ import annotations

from vez.judge.words.sentence import Language

_WORDS = {
    "a cycle:": "um ciclo:",
    "(nobody will come)": "(ninguém virá)",
    " wait for ever": " esperam para sempre",
    " waits for ever": " espera para sempre",
    "the threads go round for ever": "os threads repetem os mesmos passos para sempre",
}


def threads_words(line: str, language: Language) -> str:
    """A line about threads in that language."""
    for english, portuguese in _WORDS.items() if language == "pt" else ():
        line = line.replace(english, portuguese)
    return line
