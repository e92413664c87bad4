"""Commands that start quickly: their parameters as plain data, and a parser for plain command lines.

click takes longer to load than `vez run` takes for the rest. So the parameters of `vez run` and `vez status` are
declared as data, once, and are read twice: by `parse`, without click, if the command line is plain; and by click
(`clicked.py`) otherwise, for help, errors, completion and unusual forms. `parse` gives what click would give, or None:
it understands words and options of the declared forms only.
docs/decisions/command-line.md has the reasons.
"""

# Annotations are not text here: NamedTuple would compile each of them when the module is imported.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from vez.errors import Misuse


class Option(NamedTuple):
    """One option."""

    names: tuple[str, ...]
    """As users write it; the last one is the long one."""
    parameter: str
    """The name of the parameter of the function."""
    help: str
    kind: Literal["text", "flag", "number", "whole", "file"] = "text"
    default: Any = None
    least: float | None = None
    most: float | None = None
    metavar: str | None = None
    show_default: bool = False
    suffixes: tuple[str, ...] = ()
    """Of a file to be written: the suffixes that it may have."""


class Given:
    """The parameters that the user typed, and the checks of options that need or exclude each other."""

    def __init__(self, typed: Iterable[str], option: Callable[[str], str]) -> None:
        self.typed = frozenset(typed)
        self._option = option  # parameter -> as users write it

    def only_with(self, needed: str, present: bool, *parameters: str) -> None:
        """Refuse parameters that were given without the parameter that they need."""
        for parameter in parameters:
            if not present and parameter in self.typed:
                name = self._option(parameter)
                raise Misuse(f"{name} has no effect without {needed}", hint=f"add {needed}, or leave {name} out")

    def without_effect(self, present: str, *parameters: str) -> None:
        """Refuse parameters that have no effect because of another parameter."""
        for name in (self._option(parameter) for parameter in parameters if parameter in self.typed):
            raise Misuse(f"{name} has no effect with {present}", hint=f"leave {name} out")

    def not_together(self, *parameters: str) -> None:
        """Refuse parameters that exclude each other."""
        found = [self._option(parameter) for parameter in parameters if parameter in self.typed]
        if len(found) > 1:
            raise Misuse(f"{' and '.join(found[:2])} exclude each other", hint="give one of them")


class Declared(NamedTuple):
    """A command: NAME, perhaps COMMAND..., and options. The docstring of the function is its help."""

    name: str
    summary: str
    function: Callable[..., int]
    """Gets a `Given`, and the values by the names of the parameters."""
    options: tuple[Option, ...]
    runs: bool = False
    """True if COMMAND... is needed after NAME; else NAME may be left out. Options end where COMMAND begins, so that the
    options of COMMAND reach it, unless `--` shows which words are whose."""

    def option(self, parameter: str) -> str:
        """The parameter as users write it."""
        return next((one.names[-1] for one in self.options if one.parameter == parameter), parameter.upper())


class Parsed(NamedTuple):
    """A command line that was understood."""

    given: Given
    values: dict[str, Any]


def is_marked(command: Declared, arguments: Sequence[str]) -> bool:
    """True if `--` shows where COMMAND begins. A `--` behind the first word of COMMAND belongs to COMMAND."""
    takes_value = {name for option in command.options if option.kind != "flag" for name in option.names}
    words, skip = 0, False
    for word in arguments:
        if skip:
            skip = False
        elif word == "--":
            return True
        elif word.startswith("-") and word != "-":
            skip = word in takes_value
        else:
            words += 1
            if words == 2:
                return False
    return False


def parse(command: Declared, arguments: Sequence[str]) -> Parsed | None:
    """The values of a plain command line; None if click has to look at it."""
    known = {name: option for option in command.options for name in option.names}
    values: dict[str, Any] = {option.parameter: _default(option) for option in command.options}
    marked, typed, words, rest = is_marked(command, arguments), set[str](), list[str](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--" or (words and command.runs and not marked):
            words += rest if word == "--" else [word, *rest]
            break
        if not word.startswith("-"):
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        option = known.get(name)
        if option is None or (equals and (option.kind == "flag" or not name.startswith("--"))):
            return None
        if option.kind != "flag" and not equals:
            value = rest.pop(0) if rest else ""
        read = _read(option, value)
        if read is None:
            return None
        values[option.parameter] = read
        typed.add(option.parameter)
    return _with_words(command, words, marked, typed, values)


def _with_words(
    command: Declared, words: list[str], marked: bool, typed: set[str], values: dict[str, Any]
) -> Parsed | None:
    """Add NAME and COMMAND; None if they are not as they should be."""
    if not all(words[:2]) or (words and words[0].startswith("-")):
        return None
    if command.runs:
        if len(words) < 2 or (words[1].startswith("-") and not marked):
            return None
        values |= {"name": words[0], "command": tuple(words[1:])}
        typed.add("command")
    elif len(words) > 1:
        return None
    else:
        values["name"] = words[0] if words else None
    return Parsed(Given(typed | ({"name"} if words else set()), command.option), values)


def _default(option: Option) -> Any:
    return False if option.kind == "flag" else option.default


def _read(option: Option, value: str) -> Any:
    """The value of an option; None if it is not plain: empty, like an option, not a simple number or out of range."""
    if option.kind == "flag":
        return True
    if not value or value.startswith("-") or option.kind == "file":
        return None
    if option.kind == "text":
        return value
    digits = value.replace(".", "", 1) if option.kind == "number" else value
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        return None
    number = float(value) if option.kind == "number" else int(value)
    inside = (option.least is None or number >= option.least) and (option.most is None or number <= option.most)
    return number if inside else None
