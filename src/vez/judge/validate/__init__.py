"""Validation of recorded runs: the handlers are the specification.

A trace records what happened to each process and what the process did. This package rebuilds the state of each process
from its events, by running the algorithm's own handlers, and compares their effects with the trace. It reports the
first step that the algorithm could not have taken.

    validation              the answer, and the loop over all events
    context                 the data that all parts of a validation share
    steps                   the trace, split into one step for each handler
    world, channels         rules for any algorithm: processes, application and resource; messages
    replica                 one process, rebuilt by running its handlers
    initial_process         the process that a `Started` event describes
    handler_call            one run of a handler
    expectation             the events that a run of a handler must leave in the trace
"""

from vez.judge.validate.validation import Answer, Finding, Validation, validate

__all__ = ["Answer", "Finding", "Validation", "validate"]
