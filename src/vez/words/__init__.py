"""Words in English and Portuguese, in one place: verdicts, properties and titles of scenarios.

A verdict is data (`Sentence`: what, who, when); the wording of each language stands here. Properties keep their English
names in files and options. Imports `vez.errors` only.
"""

from vez.words.names import assumption_name, property_name, status_words, topology_name
from vez.words.sentence import LANGUAGES, Language, Sentence, plain, said
from vez.words.titles import scenario_title

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
