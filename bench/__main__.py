"""Run all benchmarks, or the named ones: `python -m bench election`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def main() -> int:
    """Run each benchmark's `main()`, which prints its measurements and the alternatives."""
    here = pkgutil.iter_modules([str(Path(__file__).parent)])
    known = sorted(
        info.name for info in here if info.name != "__main__" and not info.ispkg
    )  # a package is a part of one
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            print(f"bench: unknown benchmark {name!r}; known: {', '.join(known)}", file=sys.stderr)
            return 64
        print(f"== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
