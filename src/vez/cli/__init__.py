"""The command line: `vez`. Each command is a file; this one puts them together."""

from vez.cli.app import main

__all__ = ["main"]
