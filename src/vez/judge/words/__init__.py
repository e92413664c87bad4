"""The wording of verdicts, properties, steps and titles of scenarios in English and Portuguese; events in English.

A verdict is data (`Sentence`: a key with its values). This package has its wording in each language. Properties keep
their English names in files and options.

    sentence          a key and its values, and how they become text
    names             names of properties, topologies and assumptions; "holds", "broken" and the other results
    verdicts          sentences about the evidence of a verdict on a run
    checker           sentences about verdicts of the checker: in how many steps, in how many states
    settings, steps   sentences about what the checker explored, and about its steps
    assumptions       sentences about assumptions that a run did not keep
    costs             sentences about a run and its costs
    titles            titles of scenarios
    pictures          words of pictures of a trace
    remarks           statuses, remarks and messages of algorithms
    events            events and steps of a trace, in English
    threads           sentences about blocked threads

The player has its own texts (`draw/trace/player/strings.js`), and commands name both languages where they print
(`in_words` in `cli/printing/language.py`). Imports `vez.core` (`events` alone) and `vez.errors`.
"""

from vez.judge.words.names import assumption_name, property_name, status_words, topology_name
from vez.judge.words.sentence import LANGUAGES, Language, Sentence, plain, said
from vez.judge.words.titles import scenario_title

__all__ = [
    "LANGUAGES",
    "Language",
    "Sentence",
    "assumption_name",
    "plain",
    "property_name",
    "said",
    "scenario_title",
    "status_words",
    "topology_name",
]
