"""`POST /v1/dedup-check`: is this statement news? Reads only."""

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query, Request, Response

from factsieve.api.access import Reader
from factsieve.api.context import ApiContext, current
from factsieve.api.models import DedupCheck
from factsieve.api.problems import Problem
from factsieve.api.replies import ApiRoute, described, problems, reply
from factsieve.api.statements import UNUSABLE, as_checked, namespace_of
from factsieve.core.errors import BadInput
from factsieve.core.facts import FILTERED_SIGNAL, DedupSignal
from factsieve.engine.check import Explained

router = APIRouter(route_class=ApiRoute, tags=["dedup check"])

_TOLD: Final = (
    "decision",
    "reason",
    "band",
    "via",
    "matched_id",
    "matched_text",
    "superseded_ids",
    "thresholds",
    "neighbours",
    "findings",
    "judges",
    "review",
    "conflicts_with",
    "occurred_at",
    "resolved_at",
    "policy",
    "embedder",
)
"""What of a decision has a meaning where nothing was decided."""

_SIGNAL: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["is_update", "max_sim", "matched_id"],
    "additionalProperties": False,
    "properties": {
        "is_update": {"type": "boolean", "description": "Whether `max_sim` is above the threshold."},
        "max_sim": {"type": "number", "minimum": -1, "maximum": 1, "description": "The true best similarity."},
        "matched_id": {"type": ["string", "null"], "format": "uuid", "description": "The fact that it belongs to."},
        "filtered": {"const": True, "description": "Only there where the text or the vector can not be used."},
        "explain": {
            "type": "object",
            "description": "Only with `explain`: what the worker would decide now, and why. The fields are those of `fact-decisions`.",
            "required": ["asked"],
            "properties": {
                "asked": {
                    "type": "array",
                    "description": "Questions that the worker would put to a judge; `answered_by` says who answered here.",
                    "items": {"type": "object"},
                }
            },
        },
    },
}
_EXAMPLE: Final = {"is_update": True, "max_sim": 0.95213, "matched_id": "01943a5c-3f80-7a1b-9c2d-0123456789ab"}


@router.post(
    "/v1/dedup-check",
    summary="Is this statement news?",
    responses={200: described(_SIGNAL, "The dedup signal.", _EXAMPLE), **problems(413)},
)
async def dedup_check(
    body: DedupCheck,
    request: Request,
    who: Reader,
    explain: Annotated[bool, Query(description="Say too what the worker would decide, and why.")] = False,
    ask: Annotated[
        bool,
        Query(description="With `explain`: ask a language model where the worker would (needs the scope `write`)."),
    ] = False,
) -> Response:
    """Return the dedup signal that the statement would get if it were made now: by the worker's own look-ups, without storing anything.

    It counts against no rate; as many at once as may be, beyond that 503 at once.
    """
    context = current(request)
    namespace = namespace_of(body, who)
    if ask and not (explain and who.may_write):
        raise Problem(
            403 if explain else 422,
            "scope_missing" if explain else "unusable_input",
            "asking a language model costs something: `ask` goes with `explain`, and needs the scope `write`",
        )
    try:
        record, candidate = as_checked(body, namespace, context.connected.topics, context.limits, context.clock.now())
    except BadInput as error:
        if error.code not in UNUSABLE:
            raise
        return _filtered(context, error, explain=explain)
    if not explain:
        return _told(context, await context.checker.signal(record, candidate))
    if ask:
        context.writes.take(who.name, 1)
    explained = await context.checker.explain(record, candidate, ask_remote=ask)
    return _told(context, explained.decision.dedup_signal, _explanation(explained))


def _filtered(context: ApiContext, error: BadInput, *, explain: bool) -> Response:
    told = {"error": {"code": error.code, "message": str(error), "field": error.field}, "asked": []}
    return _told(context, FILTERED_SIGNAL, told if explain else None)


def _told(context: ApiContext, signal: DedupSignal, explanation: dict[str, Any] | None = None) -> Response:
    context.metrics.checked("filtered" if signal.filtered else str(signal.is_update).lower())
    if explanation is None:
        return reply(signal)
    return reply({**msgspec.to_builtins(signal), "explain": explanation})


def _explanation(explained: Explained) -> dict[str, Any]:
    fields = msgspec.structs.asdict(explained.decision)
    told: dict[str, Any] = {name: msgspec.to_builtins(fields[name]) for name in _TOLD}
    return told | {"asked": msgspec.to_builtins(explained.asked)}
