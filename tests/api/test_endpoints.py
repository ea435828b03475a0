"""Every endpoint on a real stack: what it answers when all is well, and when it is not."""

import json
import re
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from api_stack import WAIT_S, Live

pytestmark = [pytest.mark.api, pytest.mark.stack]

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
STORE = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.json")}


def check(value: Any, name: str) -> None:
    """Assert that a value is what the released schema of its topic says."""
    from referencing import Registry, Resource

    registry = Registry().with_resources((key, Resource.from_contents(schema)) for key, schema in STORE.items())
    jsonschema.Draft7Validator(STORE[name], registry=registry).validate(value)


def moved_port(live: Live) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return a namespace in which a port moved, with the decisions about the old and the new one."""
    namespace = live.fresh("moved")
    first, second = live.remember(
        {"namespace": namespace, "text": "The Harbor API listens on port 8080.", "slot": "harbor.port"},
        {"namespace": namespace, "text": "The Harbor API listens on port 8081.", "slot": "harbor.port"},
    )
    assert (first["decision"], second["decision"]) == ("add", "supersede")
    return namespace, first, second


def test_a_candidate_is_taken_and_its_decision_found_by_event(live: Live, ops: httpx.Client) -> None:
    """202 with the event's names; under either of them its decision is found, and it is what the schema says."""
    namespace = live.fresh("one")
    body = {"id": "4711", "namespace": namespace, "text": "Ana leads the Harbor team.", "attributes": {"page": 3}}
    sent = ops.post("/v1/candidates", json=body)
    assert sent.status_code == 202
    (event,) = sent.json()["events"]
    assert (event["event_id"], event["namespace"]) == ("4711", namespace)
    by_key = live.decision(ops, event["event_key"])
    check(by_key, "fact.decision.v1.json")
    assert (by_key["decision"], by_key["ce_source"], by_key["event_key"]) == (
        "add",
        "factsieve/api",
        event["event_key"],
    )
    found = ops.get("/v1/decisions", params={"event_id": "4711", "namespace": namespace}).json()
    assert [one["decision_id"] for one in found["decisions"]] == [by_key["decision_id"]]
    assert ops.get(f"/v1/decisions/{event['event_key']}").json() == by_key
    assert ops.get(f"/v1/facts/{by_key['fact_id']}").json()["attributes"] == {"page": 3}
    again = ops.post("/v1/candidates", json=body).json()["events"]
    assert again == [event], "the same event has the same names"


def test_candidates_of_one_request_are_decided_in_order_and_all_or_none_are_taken(
    live: Live, ops: httpx.Client
) -> None:
    """One that a worker would refuse is named with the worker's code, and then none of them is sent."""
    namespace = live.fresh("batch")
    good = {"id": "good", "namespace": namespace, "text": "Bins go out on Friday."}
    late = {"namespace": namespace, "text": "Bins go out on Monday.", "occurred_at": "9000-01-01T00:00:00Z"}
    refused = ops.post("/v1/candidates", json={"candidates": [good, late, {**good, "text": " "}]})
    assert refused.status_code == 422
    assert [(one["field"], one["code"]) for one in refused.json()["errors"]] == [
        ("body.candidates.1.occurred_at", "future_time"),
        ("body.candidates.2.text", "empty_text"),
    ]
    told = live.remember(good, {"namespace": namespace, "text": good["text"]})
    assert [one["decision"] for one in told] == ["add", "skip"]
    assert told[0]["coordinates"]["offset"] < told[1]["coordinates"]["offset"]
    assert len(ops.get("/v1/decisions", params={"namespace": namespace}).json()["decisions"]) == 2


def test_facts_are_listed_by_page_newest_first(live: Live, ops: httpx.Client) -> None:
    """Pages join to the whole list, each fact once, in the order of validity, newest first; each is what the schema says."""
    namespace = live.fresh("pages")
    texts = [
        "Tea is in the cupboard.",
        "The bike has a flat tyre.",
        "Max swims on Mondays.",
        "Ella plays the piano.",
        "Rent is due.",
    ]
    live.remember(
        *(
            {"namespace": namespace, "text": text, "occurred_at": f"2025-03-0{1 + number // 2}T10:00:00Z"}
            for number, text in enumerate(texts)
        )
    )
    seen: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(4):
        page = ops.get(
            "/v1/facts", params={"namespace": namespace, "limit": 2} | ({"cursor": cursor} if cursor else {})
        ).json()
        seen += page["facts"]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(one["text"] for one in seen) == sorted(texts)
    order = [(one["valid_from"], one["fact_id"]) for one in seen]
    assert order == sorted(order, reverse=True)
    check(seen[0], "fact.state.v1.json")


def test_facts_of_another_time_and_near_to_a_text(live: Live, ops: httpx.Client) -> None:
    """as_of: what was true then. known_at: what was believed then. all: past ones too. like: the nearest first."""
    namespace = live.fresh("times")
    live.remember(
        {
            "namespace": namespace,
            "text": "Sam works as a nurse.",
            "slot": "sam.job",
            "occurred_at": "2025-01-01T10:00:00Z",
        },
        {"namespace": namespace, "text": "The garage door is green.", "occurred_at": "2025-01-02T10:00:00Z"},
        {
            "namespace": namespace,
            "text": "Sam works as a pilot.",
            "slot": "sam.job",
            "occurred_at": "2025-03-01T10:00:00Z",
        },
    )

    def texts(**params: Any) -> list[str]:
        found = ops.get("/v1/facts", params={"namespace": namespace, **params})
        assert found.status_code == 200, found.text
        return [one["text"] for one in found.json()["facts"]]

    assert texts() == ["Sam works as a pilot.", "The garage door is green."]
    assert texts(as_of="2025-02-01") == ["The garage door is green.", "Sam works as a nurse."]
    assert texts(known_at="2025-02-01") == []
    assert len(texts(all="true")) == 3
    assert texts(like="what is Sam's profession", limit=1) == ["Sam works as a pilot."]
    assert texts(like="what is Sam's profession", as_of="2025-02-01T00:00:00Z")[0] == "Sam works as a nurse."
    near = ops.get("/v1/facts", params={"namespace": namespace, "like": "Sam works as a pilot."}).json()["facts"]
    assert near[0]["similarity"] == 1.0 > near[1]["similarity"]


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"as_of": "yesterday"}, 422),
        ({"cursor": "bm9uZQ"}, 400),
        ({"limit": 0}, 422),
        ({"like": "x", "all": "true"}, 422),
        ({"like": " "}, 422),
    ],
)
def test_parameters_that_can_not_be_used_are_named(ops: httpx.Client, params: dict[str, Any], status: int) -> None:
    """A problem document that says what was wrong."""
    refused = ops.get("/v1/facts", params=params)
    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")
    assert next(iter(params)) in refused.json()["detail"]


def test_a_fact_has_its_history(live: Live, ops: httpx.Client) -> None:
    """Its rows, and the chain that it belongs to, oldest first."""
    _, first, second = moved_port(live)
    told = ops.get(f"/v1/facts/{second['fact_id']}/history").json()
    assert told["fact"]["text"] == "The Harbor API listens on port 8081."
    assert [row["fact_id"] for row in told["timeline"]] == [first["fact_id"], second["fact_id"]]
    assert [row["revision"] for row in told["rows"]] == [1]
    for missing in (str(uuid.uuid4()), "no-id", "%2e%2e"):
        assert ops.get(f"/v1/facts/{missing}/history").status_code == 404
        assert ops.get(f"/v1/facts/{missing}").status_code == 404


def test_decisions_are_filtered_and_paged(live: Live, ops: httpx.Client) -> None:
    """By kind, band, reason, fact, text and time; pages join."""
    namespace, first, second = moved_port(live)

    def ids(**params: Any) -> list[str]:
        found = ops.get("/v1/decisions", params={"namespace": namespace, **params}).json()
        return [one["decision_id"] for one in found["decisions"]]

    both = [second["decision_id"], first["decision_id"]]
    assert ids() == both
    assert ids(decision="supersede") == both[:1]
    assert ids(reason="cold_start") == both[1:]
    assert ids(band="none") == both[1:]
    assert ids(fact_id=first["fact_id"]) == both
    assert ids(text="PORT 8081") == both[:1]
    assert ids(since="2999-01-01") == []
    assert ids(review="true") == []
    page = ops.get("/v1/decisions", params={"namespace": namespace, "limit": 1}).json()
    assert ids(limit=1, cursor=page["next"]) == both[1:]
    assert ops.get(f"/v1/decisions/{uuid.uuid4()}").status_code == 404


def test_waiting_for_a_decision_ends_with_the_decision_or_the_time(live: Live, ops: httpx.Client) -> None:
    """What comes is told as soon as it is there; where nothing comes, an empty list is, when the time is over."""
    namespace = live.fresh("waited")
    assert ops.get("/v1/decisions", params={"namespace": namespace, "wait": 0.2}).json()["decisions"] == []
    found: list[dict[str, Any]] = []

    def wait() -> None:
        with live.client() as client:
            found.extend(client.get("/v1/decisions", params={"namespace": namespace, "wait": 30}).json()["decisions"])

    waiting = threading.Thread(target=wait)
    waiting.start()
    (told,) = live.remember({"namespace": namespace, "text": "The gate code is 4711."})
    waiting.join(WAIT_S)
    assert [one["decision_id"] for one in found] == [told["decision_id"]]


def test_decisions_stream_as_they_are_made_and_go_on_after_a_break(live: Live, ops: httpx.Client) -> None:
    """Server-sent events with the decision and its id; with Last-Event-ID what came since comes first."""
    namespace = live.fresh("stream")

    def read(client: httpx.Client, count: int, do: Callable[[], object], **headers: str) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        with client.stream("GET", "/v1/decisions/stream", params={"namespace": namespace}, headers=headers) as events:
            assert events.headers["content-type"].startswith("text/event-stream")
            for line in events.iter_lines():
                if line == ": following":
                    do()
                if line.startswith("data: "):
                    told.append(json.loads(line.removeprefix("data: ")))
                if len(told) == count:
                    return told
        raise AssertionError("the stream ended")

    (first,) = read(ops, 1, lambda: live.remember({"namespace": namespace, "text": "The first one."}))
    live.remember({"namespace": namespace, "text": "Something else entirely."})
    (missed,) = read(ops, 1, lambda: None, **{"Last-Event-ID": first["decision_id"]})
    assert (first["text"], missed["text"]) == ("The first one.", "Something else entirely.")


def test_a_decision_is_reverted_and_the_revert_undone(live: Live, ops: httpx.Client) -> None:
    """Previewed without a change, carried out, told; with the same key it is carried out once; its own decision reverts it."""
    namespace, _, second = moved_port(live)
    url = f"/v1/decisions/{second['decision_id']}/revert"

    def texts() -> set[str]:
        return {one["text"] for one in ops.get("/v1/facts", params={"namespace": namespace}).json()["facts"]}

    before = ops.get("/v1/facts", params={"namespace": namespace, "all": "true"}).json()
    preview = ops.post(url, params={"dry_run": "true"}, json={"drop_newer": True})
    assert (preview.status_code, preview.json()["dry_run"], preview.json()["outcome"]) == (200, True, "applied")
    assert {one["type"] for one in preview.json()["changes"]} == {"reverted", "retracted"}
    assert ops.get("/v1/facts", params={"namespace": namespace, "all": "true"}).json() == before
    done = ops.post(url, json={"reason": "both are in use"}, headers={"Idempotency-Key": "once"}).json()
    assert (done["outcome"], done["dry_run"]) == ("applied", False)
    assert texts() == {"The Harbor API listens on port 8080.", "The Harbor API listens on port 8081."}
    again = ops.post(url, json={"reason": "both are in use"}, headers={"Idempotency-Key": "once"}).json()
    assert again["decision_id"] == done["decision_id"]
    other = ops.post(url, json={"reason": "another one"}, headers={"Idempotency-Key": "once"})
    assert (other.status_code, other.json()["code"]) == (409, "refused"), other.text
    assert "event_id_conflict" in other.json()["detail"]
    undone = ops.post(f"/v1/decisions/{done['decision_id']}/revert")
    assert undone.json()["outcome"] == "applied", undone.text
    assert texts() == {"The Harbor API listens on port 8081."}


def test_a_fact_is_withdrawn_and_one_is_erased(live: Live, ops: httpx.Client) -> None:
    """A withdrawn fact keeps its text; an erased one is gone, its text from decisions too."""
    namespace = live.fresh("gone")
    kept, secret = live.remember(
        {"namespace": namespace, "text": "The alarm code is 9-1-3."},
        {"namespace": namespace, "text": "Ella plays the piano."},
    )
    withdrawn = ops.post(f"/v1/facts/{kept['fact_id']}/retract", json={"reason": "said in jest"}).json()
    assert (withdrawn["outcome"], withdrawn["reason"]) == ("applied", "said in jest")
    assert ops.get(f"/v1/facts/{kept['fact_id']}").json()["status"] == "retracted"
    erased = ops.post(f"/v1/facts/{secret['fact_id']}/erase")
    assert (erased.status_code, erased.json()["outcome"]) == (200, "applied")
    assert ops.get(f"/v1/facts/{secret['fact_id']}").status_code == 404
    assert "piano" not in ops.get("/v1/decisions", params={"namespace": namespace}).text
    assert "piano" not in ops.get("/v1/facts", params={"namespace": namespace, "all": "true"}).text
    refused = ops.post(f"/v1/decisions/{secret['decision_id']}/revert")
    assert refused.status_code in (200, 409)
    assert "piano" not in refused.text


def test_a_command_that_is_refused_says_why(live: Live, ops: httpx.Client) -> None:
    """409 with the worker's reason, which the dry run foretells; a body that says nothing never leaves."""
    namespace = live.fresh("refused")
    texts = ("The API listens on port 1", "The API listens on port 2", "The API listens on port 3")
    _, middle, last = live.remember(*({"namespace": namespace, "text": text} for text in texts))
    url = f"/v1/decisions/{middle['decision_id']}"
    preview = ops.post(f"{url}/revert", params={"dry_run": "true"}).json()
    refused = ops.post(f"{url}/revert")
    assert preview["outcome"] == "refused"
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")
    assert refused.json()["detail"] == preview["reason"]
    assert last["decision_id"] in refused.json()["detail"]
    neither = ops.post(f"{url}/review", json={})
    assert (neither.status_code, neither.json()["errors"][0]["code"]) == (422, "missing_field")


def test_a_flagged_fact_is_decided(live: Live, ops: httpx.Client) -> None:
    """What the rules could not decide is flagged, found as such, and decided by its decision's id."""
    namespace = live.fresh("flagged")
    live.remember(
        {"namespace": namespace, "text": "We use Redis for caching.", "occurred_at": "2025-01-01T09:00:00Z"},
        {"namespace": namespace, "text": "We use Memcached for caching.", "occurred_at": "2025-01-02T09:00:00Z"},
    )
    (flagged,) = ops.get("/v1/decisions", params={"namespace": namespace, "review": "true"}).json()["decisions"]
    url = f"/v1/decisions/{flagged['decision_id']}/review"
    body = {"decision": "supersede", "targets": flagged["conflicts_with"]}
    assert ops.post(url, params={"dry_run": "true"}, json=body).json()["outcome"] == "applied"
    assert ops.post(url, json=body).json()["outcome"] == "applied"
    left = ops.get("/v1/facts", params={"namespace": namespace}).json()["facts"]
    assert [one["text"] for one in left] == ["We use Memcached for caching."]


def test_what_is_under_way_is_answered_202_with_where_it_will_be(live: Live, ops: httpx.Client) -> None:
    """Without waiting the answer is `pending`; the outcome is at the address that it names."""
    namespace = live.fresh("pending")
    (told,) = live.remember({"namespace": namespace, "text": "The gate code is 4711."})
    sent = ops.post(f"/v1/facts/{told['fact_id']}/retract", params={"wait": 0})
    assert (sent.status_code, sent.json()["outcome"]) == (202, "pending")
    outcome = ops.get(f"{sent.headers['location']}&wait=20").json()["decisions"][0]
    assert (outcome["command"], outcome["outcome"], outcome["event_id"]) == (
        "retract",
        "applied",
        sent.json()["command_id"],
    )


def test_probes_need_no_token_and_metrics_one_for_everything(
    ops: httpx.Client, as_tenant: Callable[[str | None], httpx.Client]
) -> None:
    """/healthz and /readyz answer anybody, without a word of any fact; /metrics is of all tenants together."""
    nobody = as_tenant(None)
    assert nobody.get("/healthz").json() == {"status": "ok", "checks": {}}
    ready = nobody.get("/readyz").json()
    assert (ready["status"], set(ready["checks"])) == ("ok", {"qdrant", "ledger", "decision_log"})
    assert nobody.get("/metrics").status_code == 401
    assert as_tenant("alpha").get("/metrics").status_code == 403
    told = ops.get("/metrics").text
    assert re.search(r'factsieve_http_requests_total\{method="GET",route="/readyz",status="200"\} [1-9]', told)
    assert re.search(r'factsieve_http_requests_total\{method="GET",route="/metrics",status="401"\} [1-9]', told)


def test_the_document_and_its_page(live: Live, as_tenant: Callable[[str | None], httpx.Client]) -> None:
    """OpenAPI 3.1 with the topics' schemas; a page that lists every operation and loads nothing from elsewhere."""
    nobody = as_tenant(None)
    document = nobody.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    page = nobody.get("/docs").text
    for path, operations in document["paths"].items():
        for verb in operations:
            assert f"<span class=verb>{verb.upper()}</span> {path}</code>" in page
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "Example body" in page
    del live
