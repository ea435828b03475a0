"""The decisions in memory: found by id and filter, each once, the oldest pushed out, erased texts taken out."""

import json
from datetime import timedelta
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from referencing import Registry, Resource

from factsieve.operations.log_counts import count_rows, similarity_bar
from factsieve.operations.log_ring import DecisionFilter, Ring, decided_by, test_of
from tests.operations.decisions import START, decision_value, fact_value, reject_value, skip_value, uid

test_of.__test__ = False  # its name is not a test's
SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"


def names(values: list[dict]) -> list[str]:
    return [value["event_id"] for value in values]


def found(ring: Ring, limit: int = 100, before: str | None = None, **wanted: object) -> list[str]:
    rows, _ = ring.select(DecisionFilter(**wanted), limit=limit, before=before)
    return names([row.value for row in rows])


def ring_of(*values: dict, capacity: int = 100) -> Ring:
    ring = Ring(capacity)
    for value in values:
        ring.add(value)
    return ring


@pytest.mark.parametrize(
    "value", [decision_value("a"), skip_value("b", "a"), reject_value("c")], ids=["add", "skip", "reject"]
)
def test_the_values_that_these_tests_use_are_those_of_the_schema(value: dict) -> None:
    """They are valid by schemas/fact.decision.v1.json."""
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("fact.*.json")}
    registry = Registry().with_resources((name, Resource.from_contents(one)) for name, one in schemas.items())
    jsonschema.Draft7Validator(schemas["fact.decision.v1.json"], registry=registry).validate(value)


def test_newest_comes_first_and_pages_meet_without_gap_or_repeat() -> None:
    """Each page begins where the one before ended, and the last one has no next; what comes meanwhile changes nothing."""
    ring = ring_of(*[decision_value(str(n), at=n) for n in range(7)])
    pages, before = [], None
    while True:
        rows, before = ring.select(DecisionFilter(), limit=3, before=before)
        pages.append(names([row.value for row in rows]))
        ring.add(decision_value(f"late {len(pages)}", at=100))
        if before is None:
            break
    assert pages == [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    assert found(ring, before="no such cursor") == []


def test_a_full_page_that_is_the_last_has_no_next() -> None:
    """The cursor promises that there is more."""
    assert ring_of(decision_value("a"), decision_value("b")).select(DecisionFilter(), limit=2)[1] is None


def test_the_oldest_are_pushed_out_and_no_id_leads_to_them() -> None:
    """Ids, event keys and event ids of what is gone find nothing; the log says from when on it is complete."""
    values = [decision_value(str(n), at=n) for n in range(5)]
    ring = ring_of(*values, capacity=2)
    assert (len(ring), found(ring)) == (2, ["4", "3"])
    assert ring.get(values[0]["decision_id"]) is None
    assert found(ring, event_id="0") == found(ring, event_key=values[1]["event_key"]) == []
    assert found(ring, event_id="4") == found(ring, event_key=values[4]["event_key"]) == ["4"]
    assert ring.forgotten_until == (START + timedelta(seconds=2)).timestamp()


def test_a_decision_told_again_is_there_once_in_its_place() -> None:
    """A replay does not make it newer, nor count twice."""
    first = decision_value("a")
    ring = ring_of(first, decision_value("b"))
    assert ring.add(first | {"replayed": True}) is None
    assert found(ring) == ["b", "a"]


def test_each_filter_keeps_what_it_names() -> None:
    """One by one, and together."""
    ring = ring_of(
        decision_value("a", at=0),
        skip_value("b", "a", at=1),
        decision_value("c", at=2, namespace="other", review="conflict", reason="judged_new", band="known"),
        reject_value("d", at=3),
        reject_value("e", at=4, namespace=None),
        decision_value(
            "f", at=5, decision=None, command="revert", outcome="applied", reason="by operator", fact_id=None
        ),
    )
    assert found(ring) == ["f", "e", "d", "c", "b", "a"]
    assert found(ring, namespaces=frozenset({"team"})) == ["f", "d", "b", "a"]
    assert found(ring, namespaces=frozenset()) == []
    assert found(ring, decision="skip") == found(ring, reason="similar") == ["b"]
    assert found(ring, decision="refused") == ["e", "d"]
    assert found(ring, reason="empty_text") == ["e", "d"]
    assert found(ring, decision="revert") == ["f"]
    assert found(ring, band="known") == ["c", "b"]
    assert found(ring, review=True) == ["c"]
    assert found(ring, review=False, decision="add") == ["a"]
    assert found(ring, fact_id=uid("a")) == ["b", "a"]
    assert found(ring, event_id="c") == ["c"]
    assert found(ring, event_id="c", namespaces=frozenset({"team"})) == []
    assert found(ring, since=START + timedelta(seconds=2), until=START + timedelta(seconds=4)) == ["d", "c"]
    assert found(ring, band="known", namespaces=frozenset({"other"})) == ["c"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Die Straße ist GESPERRT", "strasse"),
        ("ＡＰＩ on port 80", "api"),
        ("会议改到周五", "周五"),
        ("Ünal kommt", "ünal"),
    ],
)
def test_text_is_found_whatever_its_case_and_form(text: str, asked: str) -> None:
    """Folded by Unicode's rules, in the statement and in what it was compared with."""
    ring = ring_of(decision_value("a", text=text), decision_value("b", matched_text=text), decision_value("c"))
    assert found(ring, text=asked) == ["b", "a"]


def erase_value(name: str, *facts: dict, **changes: object) -> dict:
    return (
        decision_value(
            name,
            decision=None,
            command="erase",
            outcome="applied",
            reason="asked for",
            fact_id=None,
            effects=list(facts),
        )
        | changes
    )


def test_what_is_erased_is_in_no_decision_any_more() -> None:
    """The statement, its repeats and what quotes it lose the text; what else others say stays; they are found as before."""
    secret = "the door code is 4711"
    quoting = decision_value(
        "c",
        decision="supersede",
        text="there is no door code",
        matched_id=uid("a"),
        matched_text=secret,
        superseded_ids=[uid("a")],
        findings=[{"kind": "number", "ours": "", "theirs": "4711"}],
        judges=[{"judge": "rules", "asked": "choose", "choice": "supersede", "reason": "4711 is gone"}],
        effects=[fact_value("c", "there is no door code"), fact_value("a", secret, status="past")],
        changes=[
            {
                "type": "superseded",
                "fact": fact_value("c", "there is no door code"),
                "decision_id": uid("decision c"),
                "revision": 1,
                "replaced": [
                    {
                        "fact_id": uid("a"),
                        "revision": 1,
                        "text": secret,
                        "valid_from": "2026-03-04T09:00:00Z",
                        "valid_to": "2026-03-04T10:00:00Z",
                    }
                ],
            }
        ],
    )
    ring = ring_of(
        decision_value("a", text=secret, fact_id=uid("a"), slot="door", effects=[fact_value("a", secret)]),
        skip_value("b", "a", text=secret, matched_text=secret),
        quoting,
        decision_value("bystander", text="4711 is a perfume", namespace="other", fact_id=uid("x")),
        erase_value("e", fact_value("a", "", status="erased")),
    )
    kept = [row.value for row in ring.rows()]
    assert "4711" not in msgspec.json.encode([value for value in kept if value["namespace"] == "team"]).decode()
    assert kept[2]["text"] == "there is no door code"
    assert kept[3]["text"] == "4711 is a perfume"
    assert [value["reason"] for value in kept[:2]] == ["erased", "erased"]
    assert found(ring, text="4711") == ["bystander"]
    assert found(ring, fact_id=uid("a")) == ["e", "c", "b", "a"]


def test_an_erase_reaches_the_event_that_it_is_about_and_no_other_namespace() -> None:
    """A statement that became no fact of its own is erased by its decision; the same ids elsewhere are another's."""
    ring = ring_of(
        skip_value("b", "a", text="secret"),
        skip_value("elsewhere", "a", text="secret", namespace="other"),
        erase_value("e", about_decision_id=uid("decision b")),
    )
    assert found(ring, text="secret") == ["elsewhere"]
    refused = ring_of(
        skip_value("b", "a", text="secret"), erase_value("e", fact_value("a", "", status="erased"), outcome="refused")
    )
    assert found(refused, text="secret") == ["b"]


def test_a_decision_told_again_after_its_erasure_takes_the_place_of_the_first() -> None:
    """The ledger has no text of it any more; so has the log."""
    ring = ring_of(decision_value("a", text="secret"))
    ring.add(decision_value("a", decision="skip", reason="erased", text="", fact_id=None, replayed=True))
    assert (found(ring, text="secret"), found(ring, reason="erased")) == ([], ["a"])


JUDGES = {
    "rules": {"judge": "rules", "asked": "choose", "choice": "add"},
    "nli": {"judge": "nli:deberta", "asked": "choose", "choice": "add", "model": "ab12"},
    "model": {"judge": "openrouter:some/model", "asked": "choose", "choice": "supersede", "prompt_tokens": 90},
    "silent": {"judge": "openrouter:some/model", "asked": "choose", "choice": None, "failure": "timeout"},
    "confirmed": {"judge": "nli:deberta", "asked": "confirm", "choice": "skip"},
}


@pytest.mark.parametrize(
    ("value", "who"),
    [
        (decision_value("a"), "bands"),
        (decision_value("a", via="hash_window"), "window"),
        (decision_value("a", via="text"), "text"),
        (decision_value("a", judges=[JUDGES["rules"]]), "rules"),
        (decision_value("a", judges=[JUDGES["nli"]]), "nli"),
        (decision_value("a", judges=[JUDGES["model"]]), "model"),
        (decision_value("a", judges=[JUDGES["silent"]]), "bands"),
        (decision_value("a", judges=[JUDGES["confirmed"]]), "bands"),
        (decision_value("a", judges=[JUDGES["confirmed"], JUDGES["rules"]]), "rules"),
        (decision_value("a", decision=None, command="retract"), "operator"),
        (reject_value("a"), "refused"),
    ],
)
def test_who_decided(value: dict, who: str) -> None:
    """A judge that only confirmed, or did not answer, settled nothing."""
    assert decided_by(value) == who


def test_counts_add_up() -> None:
    """Every decision is in one bar of time and of one kind; similarities only where there was a neighbour; calls and tokens are summed."""
    rows = ring_of(
        decision_value("a", at=0),
        skip_value("b", "a", at=70, similarity=1.0),
        skip_value("c", "a", at=80, similarity=0.58),
        decision_value("d", at=3600, similarity=0.8, matched_id=uid("a"), judges=[JUDGES["model"]], review="conflict"),
        reject_value("e", at=3700),
    ).rows()
    counts = count_rows(rows, DecisionFilter(), 48)
    assert (counts.total, counts.kinds) == (5, {"add": 2, "skip": 2, "refused": 1})
    assert sum(sum(bar.kinds.values()) for bar in counts.times) == 5
    assert len(counts.times) <= 48
    assert counts.thresholds == (0.72, 0.78, 0.88)
    filled = {(bar.low, bar.high): bar.kinds for bar in counts.similarities if bar.kinds}
    assert filled == {(0.58, 0.6): {"skip": 1}, (0.8, 0.82): {"add": 1}, (0.98, 1.0): {"skip": 1}}
    assert (counts.reached, counts.asked, counts.model_calls, counts.tokens, counts.review) == (2, 1, 1, 90, 1)
    assert count_rows(rows, DecisionFilter(namespaces=frozenset()), 48).times == ()


@given(st.lists(st.floats(0, 5e9), min_size=1, max_size=30), st.integers(2, 60))
def test_bars_of_time_hold_every_decision_and_are_not_too_many(seconds: list[float], buckets: int) -> None:
    """Whatever the clocks say: from one instant to a century and a half."""
    counts = count_rows(
        ring_of(*[decision_value(str(n), at=s) for n, s in enumerate(seconds)]).rows(), DecisionFilter(), buckets
    )
    assert len(counts.times) <= buckets + 1
    assert sum(sum(bar.kinds.values()) for bar in counts.times) == len(seconds)


@given(st.integers(-100_000, 100_000))
def test_a_similarity_lies_in_its_bar(units: int) -> None:
    """Edges belong to the bar above them, and 1 to the last one."""
    similarity = units / 1e5
    bar = similarity_bar(similarity)
    assert bar == 0 or similarity >= 0.4 + 0.02 * bar - 1e-9
    assert bar == 29 or similarity < 0.4 + 0.02 * (bar + 1) - 1e-9


def test_what_can_not_be_read_well_enough_to_be_scrubbed_is_not_kept() -> None:
    """A decision of a later version that mentions an erased fact goes altogether; its ids lead nowhere."""
    odd = skip_value("b", "a", text="secret", changes=[{"fact": {"fact_id": uid("a")}}])
    ring = ring_of(decision_value("x"), odd, erase_value("e", fact_value("a", "", status="erased")))
    assert found(ring) == ["e", "x"]
    assert (ring.get(odd["decision_id"]), found(ring, event_id="b"), found(ring, text="secret")) == (None, [], [])


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["add", "skip"]), st.booleans()), max_size=25),
    st.integers(1, 9),
)
def test_pages_are_what_a_plain_look_at_everything_finds(made: list[tuple[str, str, bool]], limit: int) -> None:
    """Whatever is filtered for, and however short the pages are."""
    values = [
        decision_value(str(n), at=n, namespace=space, decision=kind, review="conflict" if flagged else None)
        for n, (space, kind, flagged) in enumerate(made)
    ]
    ring = ring_of(*values)
    for wanted in (
        DecisionFilter(),
        DecisionFilter(decision="add", review=True),
        DecisionFilter(namespaces=frozenset("ab")),
    ):
        expected = [
            value["event_id"]
            for value in reversed(values)
            if (wanted.decision is None or (value["decision"] == wanted.decision and bool(value["review"])))
            and (wanted.namespaces is None or value["namespace"] in wanted.namespaces)
        ]
        got: list[str] = []
        before = None
        for _ in range(len(values) + 1):
            rows, before = ring.select(wanted, limit=limit, before=before)
            got += names([row.value for row in rows])
            if before is None:
                break
        assert got == expected
