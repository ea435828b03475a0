"""The values of this package: what two statements are to each other, and how sure that is."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Relation(StrEnum):
    """What a candidate is to a stored statement.

    `same` says the same, `refines` says all of the stored and more, `covered` is said by the stored one and more, `replaces` puts
    the stored one out of force, `conflicts` may do so (nobody should retire on it), `both_stand` leaves both true.
    """

    SAME = "same"
    REFINES = "refines"
    COVERED = "covered"
    REPLACES = "replaces"
    CONFLICTS = "conflicts"
    BOTH_STAND = "both_stand"
    UNRELATED = "unrelated"


class NliScores(msgspec.Struct, frozen=True):
    """Probabilities of contradiction, 0..1: the stored text as premise (`forward`), the candidate as premise (`backward`).

    `entailed` and `entails` are given by 3-way models only: the stored text implies the candidate, and the other way round.
    """

    forward: float
    backward: float
    entailed: float | None = None
    entails: float | None = None

    @property
    def weaker(self) -> float:
        """Return the smaller contradiction score of the two directions: the more careful one."""
        return min(self.forward, self.backward)

    @property
    def stronger(self) -> float:
        """Return the greater contradiction score."""
        return max(self.forward, self.backward)


class Reading(msgspec.Struct, frozen=True):
    """A relation, how sure it is (0..1), and why, in a few words for people."""

    relation: Relation
    sureness: float
    reason: str
