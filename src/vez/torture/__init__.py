"""Torture: real worker processes on a real engine, killed, paused, forked and interrupted; then judged.

Each worker writes down what happens to it; the records become one trace, in the form of all other worlds, and the
same judges read it.
"""

from vez.torture.campaign import Campaign, Outcome, Plan

__all__ = ["Campaign", "Outcome", "Plan"]
