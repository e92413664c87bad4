"""`python -m vez.demo`: both halves, under a minute."""

from __future__ import annotations

import sys

from vez.demo import tour, turns

if __name__ == "__main__":
    real = turns.main()
    sys.exit(tour.main() or real)
