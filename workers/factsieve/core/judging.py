"""What a judge is asked and what it answers (DESIGN section 4): values only."""

from datetime import datetime

import msgspec

from factsieve.core.facts import Kind


class Choice(msgspec.Struct, frozen=True):
    """One neighbour as a judge sees it; a judge names it by its index in `Question.neighbours`."""

    text: str
    similarity: float
    stated_at: datetime
    slot: str | None = None


class Question(msgspec.Struct, frozen=True):
    """A candidate and its neighbours (best first, never empty), and what may be answered.

    `confirm` is true where only the yes or no to a similarity skip is wanted: then `allowed` is {skip, add} and only a local
    judge is asked. All texts are data of one namespace.
    """

    text: str
    occurred_at: datetime
    neighbours: tuple[Choice, ...]
    allowed: frozenset[Kind]
    slot: str | None = None
    confirm: bool = False
    namespace: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's answer. `choice` None means that there was no usable answer, `failure` then says why.

    `targets` are indices into the question's neighbours: the one repeated or revised, or all that are retired or merged.
    `text` is the judge's own wording for an update or merge. `review` asks for a person's look, `conflicts` are the
    indices that it concerns. `latency_ms` and token counts are 0 for local judges that cost nothing.
    """

    choice: Kind | None
    judge: str
    targets: tuple[int, ...] = ()
    text: str | None = None
    reason: str = ""
    confidence: float | None = None
    review: str | None = None
    conflicts: tuple[int, ...] = ()
    failure: str | None = None
    model: str | None = None
    latency_ms: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
