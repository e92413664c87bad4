"""`python -m vez.demo`: both halves, under a minute."""

from __future__ import annotations

import sys
import time

from vez.demo import tour, turns

if __name__ == "__main__":
    started = time.monotonic()
    real = turns.main()
    sys.exit(tour.main(started) or real)
