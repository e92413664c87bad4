"""`python -m vez` is the same as `vez`."""

from vez.cli import main

main()
