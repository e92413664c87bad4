"""`make demo`: real workers take turns, three runs of the simulator, and a real cluster; under a minute."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143


def main() -> int:
    """Run both halves; the exit code is 0 if everything ended as the demo says."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        started = time.monotonic()
        from vez.cli.demo import tour, turns
        from vez.cli.encoding import print_in_any_encoding  # here, so that Ctrl-C during the imports is reported too

        print_in_any_encoding()
        real = turns.main()
        return tour.main(started) or real
    except KeyboardInterrupt:
        print("vez: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _terminate(number: int, frame: FrameType | None) -> None:
    sys.exit(EXIT_TERMINATED)  # unwinds, so that no worker is left behind


if __name__ == "__main__":
    sys.exit(main())
