"""The names of the topics and of what travels on them, and the limits of what is taken in (DESIGN section 7)."""

from typing import Final

import msgspec

CANDIDATE: Final = "fact.candidate.v1"
REVERT: Final = "fact.revert.v1"
RETRACT: Final = "fact.retract.v1"
ERASE: Final = "fact.erase.v1"
REVIEW: Final = "fact.review.v1"
DECISION: Final = "fact.decision.v1"
SUPERSESSION: Final = "fact.supersession.v1"
STATE: Final = "fact.state.v1"

COMMAND_TYPES: Final = {REVERT: "revert", RETRACT: "retract", ERASE: "erase", REVIEW: "review"}
"""CloudEvents types of the commands, and the kind that each stands for."""

CE_SOURCE: Final = "factsieve"
"""`ce_source` of everything that factsieve emits itself."""

CE_SPECVERSION: Final = "1.0"
CONTENT_TYPE: Final = "application/json"


class Topics(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the six topics."""

    candidates: str = "candidate-facts"
    new_facts: str = "new-facts"
    decisions: str = "fact-decisions"
    supersessions: str = "fact-supersessions"
    facts: str = "facts"
    dead_letters: str = "candidate-facts-dlt"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the topics that a worker writes to."""
        return (self.new_facts, self.decisions, self.supersessions, self.facts, self.dead_letters)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a record may be, beyond which it is refused.

    `embedding_model` and `embedding_dimension` are those of the configured embedder: a vector that comes along is used only if it
    names that model, and then it must have that size. None: no vector is taken in.
    """

    max_text_chars: int = 8192
    max_value_bytes: int = 262_144
    max_attributes_bytes: int = 16_384
    max_namespace_chars: int = 256
    max_slot_chars: int = 128
    max_nesting: int = 32
    future_limit_s: float = 3600.0
    embedding_dimension: int | None = None
    embedding_model: str | None = None
