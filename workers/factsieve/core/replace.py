"""Whether a candidate puts a stored statement out of force: the public face of `core.relation`."""

from factsieve.core.relation.reading import NliScores, Reading, Relation
from factsieve.core.relation.relate import SURE, relate
from factsieve.core.relation.second import second_look

__all__ = ["SURE", "NliScores", "Reading", "Relation", "relate", "second_look"]
