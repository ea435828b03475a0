"""What requests say, as the OpenAPI document shows it. What a statement may be is the wire's business: see `statements.py`."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from factsieve.core.facts import Kind, Source
from factsieve.wire.commands import MAX_REASON_CHARS, MAX_TARGETS, MAX_TEXT_CHARS

_ID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


class Body(BaseModel):
    """What all bodies share: types are not guessed, unknown fields are ignored, null counts as absent."""

    model_config = ConfigDict(strict=True, use_attribute_docstrings=True, extra="ignore", allow_inf_nan=False)


class Statement(Body):
    """A statement that somebody makes, or might make."""

    text: str
    """The statement, kept as it is."""
    namespace: str | None = None
    """Tenant, project or session. Absent: `session_id`."""
    session_id: str | None = None
    """Session; stands in for an absent namespace."""
    source: Annotated[Source, Field(strict=False)] = Source.REMEMBER
    """Which kind of service speaks."""
    occurred_at: Annotated[str, Field(json_schema_extra={"format": "date-time"})] | None = None
    """When the statement was made (RFC 3339). Absent: now."""
    slot: Annotated[str, Field(min_length=1)] | None = None
    """What the statement is about, for example `user.city`."""
    embedding: list[float] | None = None
    """The text's vector. Used only if `embedding_model` is the worker's own model."""
    embedding_model: str | None = None
    """Which model made the vector."""
    dedup_threshold: Annotated[float, Field(ge=-1, le=1)] | None = None
    """In place of the configured threshold, for this statement's `is_update`: strictly above it."""


class DedupCheck(Statement):
    """Would this statement be new? Nothing is stored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"namespace": "team-kestrel", "text": "The Harbor API listens on port 8081.", "dedup_threshold": 0.84}
            ]
        }
    )


class Candidate(Statement):
    """A candidate fact."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "4711",
                    "namespace": "team-kestrel",
                    "text": "The Harbor API listens on port 8081.",
                    "source": "stop_hook",
                    "occurred_at": "2026-03-04T09:30:00Z",
                    "slot": "harbor-api.port",
                }
            ]
        }
    )

    id: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    """Your id of the event (`ce_id`): sent again with it, the statement gets the very decision again. Absent: a random one."""
    ce_source: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    """Who speaks; with namespace and id it names the event. Absent: `factsieve/api`."""
    attributes: dict[str, Any] | None = None
    """Passed through untouched."""


class Candidates(Body):
    """Several candidate facts: all are taken, or none."""

    candidates: Annotated[list[Candidate], Field(min_length=1)]
    """In order: those of one namespace are decided in it."""


def _which(body: Any) -> str:  # noqa: ANN401 - whatever was sent
    return "several" if isinstance(body, dict) and "candidates" in body else "one"


OneOrMore = Annotated[Annotated[Candidate, Tag("one")] | Annotated[Candidates, Tag("several")], Discriminator(_which)]


class Order(Body):
    """Why a command is given."""

    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON_CHARS, pattern=r"\S")] | None = None
    """For the record."""


class Revert(Order):
    """Undo a decision."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"reason": "both ports are in use", "drop_newer": False}]}
    )

    drop_newer: bool | None = None
    """Withdraw the newer statement too."""
    force: bool | None = None
    """Undo what can be undone where something changed since."""


class Review(Order):
    """Decide what was flagged: by `decision`, or by asking the judge (`ask`), one of the two."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"decision": "supersede", "targets": ["01943a5c-3f80-7a1b-9c2d-0123456789ab"]}, {"ask": True}]
        }
    )

    decision: Annotated[Kind, Field(strict=False)] | None = None
    """What it should have been."""
    targets: Annotated[list[Annotated[str, Field(pattern=_ID)]], Field(max_length=MAX_TARGETS)] | None = None
    """Facts that it is about, by id."""
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS, pattern=r"\S")] | None = None
    """Wording of an update or merge."""
    ask: Literal[True] | None = None
    """Let the judge decide now."""


class Event(BaseModel):
    """A candidate that was taken: under these names its decision will be found."""

    event_id: str
    event_key: str
    namespace: str


class Accepted(BaseModel):
    """The candidates, in order."""

    events: list[Event]


class ProblemDocument(BaseModel):
    """What went wrong, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[dict[str, Any]] | None = None
