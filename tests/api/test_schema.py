"""The whole API against its own document: whatever is sent, nothing fails, and nothing is answered that is not documented."""

import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
import schemathesis
from api_stack import TOKENS, Live
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from factsieve.api.app import make_app
from factsieve.api.context import ApiContext

pytestmark = [pytest.mark.api, pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLES = 25
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    ignored_auth,
    unsupported_method,
]
DOCUMENT = make_app(cast(ApiContext, SimpleNamespace())).openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT).exclude(path=["/v1/decisions/stream", "/readyz", "/metrics"])
"""Without the stream, which does not end by itself, and what is not of one tenant."""

OPERATIONS = {f"{verb.upper()} {path}" for path, verbs in DOCUMENT["paths"].items() for verb in verbs}


@dataclass(frozen=True)
class Known:
    """What exists, by the parameter that names it, and what was answered: (operation, status)."""

    ids: dict[str, list[str]]
    seen: Counter[tuple[str, str]]


@pytest.fixture(scope="module")
def known(live: Live) -> Iterator[Known]:
    """Ids of facts and decisions that exist, to go deeper than `not found`; afterwards every operation must have succeeded at times."""
    told = live.remember(
        {"namespace": "fuzz", "text": "The Harbor API listens on port 8080.", "slot": "harbor.port"},
        {"namespace": "fuzz", "text": "The Harbor API listens on port 8081.", "slot": "harbor.port"},
        {"namespace": "fuzz", "text": "We use Redis for caching.", "occurred_at": "2025-01-01T09:00:00Z"},
        {"namespace": "fuzz", "text": "We use Memcached for caching.", "occurred_at": "2025-01-02T09:00:00Z"},
        who="fuzz",
    )
    decisions = [one["decision_id"] for one in told]
    seen: Counter[tuple[str, str]] = Counter()
    facts = [one["fact_id"] for one in told if one["fact_id"]]
    yield Known({"fact_id": facts, "decision_id": decisions}, seen)
    succeeded = {name for name, status in seen if status.startswith("2")}
    tried = {name for name, _ in seen} & OPERATIONS
    assert tried <= succeeded, sorted(seen.items())


def steered(case: schemathesis.Case, known: Known) -> None:
    """Lead most cases to what exists, and let none wait."""
    dice = zlib.crc32(repr((case.path_parameters, case.query, case.body)).encode("utf-8", "replace"))
    for name, ids in known.ids.items():
        if name in (case.path_parameters or {}) and dice % 4:
            case.path_parameters[name] = ids[dice % len(ids)]
    query: dict[str, Any] = case.query or {}
    if "wait" in query or case.path.endswith(("/retract", "/erase", "/revert", "/review")):
        case.query = {**query, "wait": 0.05}
    if dice % 5:
        case.query.pop("namespace", None)
        for body in (case.body, *(case.body.get("candidates") or () if isinstance(case.body, dict) else ())):
            if isinstance(body, dict) and "text" in body:
                body["namespace"] = "fuzz"
                if dice % 3:
                    body.pop("occurred_at", None)
                    body.pop("slot", None)


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
def test_no_answer_is_a_failure_or_other_than_documented(case: schemathesis.Case, live: Live, known: Known) -> None:
    """No 5xx, no status, type, header or body that the document does not say."""
    steered(case, known)
    headers = {"Authorization": f"Bearer {TOKENS['fuzz']}"}
    answer = case.call_and_validate(base_url=live.url, headers=headers, checks=CHECKS, timeout=60)
    known.seen[f"{case.method} {case.path}", str(answer.status_code)] += 1
