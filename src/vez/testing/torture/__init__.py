"""Torture: real worker processes on a real engine, killed, paused, forked and interrupted; then judged.

Each worker records its events. The records become one trace, in the format of the simulator's traces, and the same
judges read it.

    plan, campaign              the plan, its execution and the outcome
    crew, fork_server, worker   the workers, the processes that fork them, and their work
    outer_faults, inner_faults  the faults from outside, and the faults inside a worker
    jobs, containers            work for the campaign in other processes; namespaces
    controls, record            the file that steers the workers; the events that they write
    history, stays, judges      the trace, the stays of each name, and the verdicts
    relay, speed, throughput    turns without the engine, and the judgement of the speed

`vez torture` uses it.
"""

from vez.testing.torture.campaign import Campaign
from vez.testing.torture.plan import Outcome, Plan

__all__ = ["Campaign", "Outcome", "Plan"]
