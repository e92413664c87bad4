"""Output in every encoding: characters that a terminal cannot show are printed in ASCII.

Python prints UTF-8 even under `LANG=C`; under a locale such as latin-1, or with `PYTHONIOENCODING=ascii`, an arrow or a
line would end the program with UnicodeEncodeError. Each character is replaced instead. Characters of pictures are
replaced by one character each, so that columns stay in line.
"""

from __future__ import annotations

import codecs
import io
import sys

ERRORS, CODEC = "vez-ascii", "vez_ascii"
ASCII = str.maketrans({
    "─": "-", "━": "-", "═": "=", "│": "|", "┃": "|", "┊": ":", "┆": ":", "┌": "+", "┐": "+", "└": "+", "┘": "+",
    "╷": ",", "■": "#", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+", "╭": "+", "╮": "+", "╯": "+", "╰": "+",
    "▶": ">", "◀": "<", "▸": ">", "◂": "<", "→": ">", "←": "<", "↑": "^", "↓": "v", "█": "#", "░": ":", "▒": ":",
    "▓": "#", "●": "o", "○": "O", "◆": "*", "□": "H", "▲": "A", "▽": "V", "×": "x", "✗": "x", "✓": "+", "·": "-",
    "•": "*", "–": "-", "—": "-", "−": "-", "…": "...", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf",
    "‘": "'", "’": "'", "“": '"', "”": '"', "φ": "phi", "∈": "in", "√": "sqrt", "∪": "u", "∅": "{}",
    "╳": "X", "╌": "-", "⋮": ":", "↻": "@", "↺": "@", "⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")",
    "²": "^2", "³": "^3", "⁴": "^4", "µ": "u", "Σ": "sum",
})  # fmt: skip


def ascii_form(text: str) -> str:
    """The text in ASCII: known replacements, letters without their accents, `?` for the rest."""
    import unicodedata  # here: few need it, and its tables take a moment to load

    plain = unicodedata.normalize("NFKD", text.translate(ASCII))
    kept = "".join(character for character in plain if not unicodedata.combining(character))
    return kept.translate(ASCII).encode("ascii", "replace").decode()


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    """Handler for characters that cannot be encoded. Bytes of file names that are not text are printed unchanged."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    part = error.object[error.start : error.end]
    if all("\udc80" <= character <= "\udcff" for character in part):
        return part.encode("utf-8", "surrogateescape"), error.end
    return ascii_form(part), error.end


def _codec(name: str) -> codecs.CodecInfo | None:
    """ASCII under another name, because `click.echo` always prints UTF-8 if the encoding is called ASCII."""
    if name != CODEC:
        return None
    plain = codecs.lookup("ascii")
    return codecs.CodecInfo(
        plain.encode, plain.decode, plain.streamreader, plain.streamwriter, plain.incrementalencoder,
        plain.incrementaldecoder, name=CODEC,
    )  # fmt: skip


codecs.register_error(ERRORS, _replace)
codecs.register(_codec)


def print_in_any_encoding() -> None:
    """Make standard output and standard error accept every character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            named_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=CODEC if named_ascii else None, errors=ERRORS)
