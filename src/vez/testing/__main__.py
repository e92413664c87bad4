"""`python -m vez.testing URL`: run the conformance suite on any engine, and print its traits."""

from __future__ import annotations

import sys
from pathlib import Path

from vez.errors import VezError
from vez.locks.engines import open_engine
from vez.locks.engines.base import Traits
from vez.locks.engines.promises import rows
from vez.locks.engines.urls import without_password

USAGE = """usage: python -m vez.testing URL [options of pytest]

Runs the contract of vez as tests on the engine of URL, for threads and for tasks: file:///tmp/turns, etcd://…, or that
of a plug-in. What the engine's traits exclude is skipped with the reason. The names that the tests use ("tokens",
"one", …) must not be in use by others. Exit code 0: the engine keeps the contract; 1: it does not;
69: it cannot be reached.
"""


class _Url:
    """Passes the URL to the suite, as an option of pytest, so that workers of pytest-xdist get it too."""

    def __init__(self, url: str) -> None:
        self.url = url

    def pytest_addoption(self, parser: object) -> None:
        """Add the option."""
        parser.addoption("--vez-url", dest="vez_url", default=self.url)  # type: ignore[attr-defined]


def _traits(url: str) -> Traits:
    """The traits of the engine, if it answers. An engine may connect only when it is first used, so it is sent a
    request first."""
    engine = open_engine(url)
    try:
        engine.names(kind="lock" if engine.traits.locks else "election")
        return engine.traits
    finally:
        engine.close()


def main(arguments: list[str]) -> int:
    """Run the suite. Returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help") or arguments[0].startswith("-"):
        print(USAGE, end="", file=sys.stdout if arguments[:1] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 64
    try:
        import pytest
    except ImportError:
        print("vez: the suite needs pytest\n     pip install pytest", file=sys.stderr)
        return 69
    url, *options = arguments
    try:
        traits = _traits(url)
    except VezError as error:
        print(f"vez: {error.message}\n     {error.hint}".rstrip(), file=sys.stderr)
        return error.exit_code
    print(f"the engine at {without_password(url)}")
    for what, here in rows(traits):
        print(f"  {what}: {here}")
    suite = str(Path(__file__).with_name("suite.py"))
    own = [
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestWarning",
        "-c",
        "/dev/null",
        "--rootdir",
        str(Path(suite).parent),
        suite,
    ]
    return int(pytest.main([*own, *options], plugins=[_Url(url)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
