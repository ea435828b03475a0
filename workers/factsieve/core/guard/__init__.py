"""The guard: a content check that forbids an automatic skip when two texts say different things.

`features` reads one text, once; `compare` sets a candidate's features against a stored fact's and returns findings. Everything is pure.
"""

from factsieve.core.guard.compare import compare
from factsieve.core.guard.extract import features, names_relative_time, resolves_same
from factsieve.core.guard.invented import introduces
from factsieve.core.guard.model import FEATURES_VERSION, FINDING_KINDS, Comparison, Features, Finding
from factsieve.core.guard.textnorm import same_statement_text

__all__ = [
    "FEATURES_VERSION",
    "FINDING_KINDS",
    "Comparison",
    "Features",
    "Finding",
    "compare",
    "features",
    "introduces",
    "names_relative_time",
    "resolves_same",
    "same_statement_text",
]
