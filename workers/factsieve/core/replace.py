"""Whether a candidate puts a stored statement out of force: the public face of `core.relation`."""

from factsieve.core.relation.changes import has_change_words
from factsieve.core.relation.reading import NliScores, Reading, Relation
from factsieve.core.relation.relate import SURE, relate
from factsieve.core.relation.second import far_apart, second_look

__all__ = ["SURE", "NliScores", "Reading", "Relation", "far_apart", "has_change_words", "relate", "second_look"]
