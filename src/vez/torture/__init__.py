"""Torture: real worker processes on a real engine, killed, paused, forked and interrupted; then judged.

Each worker records what happens to it. The records become one trace, in the format of the simulator's traces, and the
same judges read it.
"""

from vez.torture.campaign import Campaign
from vez.torture.plan import Outcome, Plan

__all__ = ["Campaign", "Outcome", "Plan"]
