"""The model that is explored: processes as finite machines, the steps, and runs as scenarios.

configuration, setting   processes, requests, faults and bounds; their description
local                    one process as a finite machine
causality, doorway       machines that also follow happened-before, or the arrival of the messages of `on_want`
starters                 who is asked to elect, and whether all of them may crash before
clock, partitions        time in ticks; sets of cut channels
state, semantics         global states, and the definition of all steps
observers                properties that need memory beyond the state
foreign_values           errors for values of a type that is not allowed
path, record, schedule   a run as a scenario that the simulator replays
describe                 steps in words
"""
