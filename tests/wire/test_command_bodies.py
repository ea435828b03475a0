"""What a command may be about, and what it may ask for."""

import pytest
from wire_builders import FACT_ID

from factsieve.core.errors import BadInput
from factsieve.wire.commands import validate_body

KEY = "ab" * 32


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("revert", {"event_key": KEY, "drop_newer": None, "force": True}),
        ("revert", {"event_id": "e1", "ce_source": "chat", "decision_id": None}),
        ("erase", {"whole_namespace": True}),
        ("erase", {"event_id": "e1"}),
        ("review", {"fact_id": FACT_ID, "ask": True}),
        ("review", {"event_key": KEY, "decision": "skip", "targets": [FACT_ID]}),
    ],
)
def test_a_body_names_its_subject_in_one_way(kind: str, body: dict[str, object]) -> None:
    """Any of the names will do; null counts as absent, unknown fields are ignored."""
    validate_body(kind, {**body, "later": 1})


@pytest.mark.parametrize(
    ("kind", "body", "code", "field"),
    [
        ("revert", {"event_key": "AB" * 32}, "wrong_type", "event_key"),
        ("revert", {"event_key": KEY, "event_id": "e1"}, "wrong_type", "event_id"),
        ("revert", {"fact_id": FACT_ID}, "missing_field", "decision_id"),
        ("revert", {"event_id": " "}, "wrong_type", "event_id"),
        ("erase", {"whole_namespace": False}, "wrong_type", "whole_namespace"),
        ("erase", {"whole_namespace": True, "fact_id": FACT_ID}, "wrong_type", "whole_namespace"),
        ("review", {"fact_id": FACT_ID, "ask": True, "decision": "add"}, "wrong_type", "ask"),
        ("review", {"fact_id": FACT_ID, "ask": 1}, "wrong_type", "ask"),
        ("retract", {"event_id": "e1"}, "missing_field", "fact_id"),
    ],
)
def test_another_body_is_refused_by_field(kind: str, body: dict[str, object], code: str, field: str) -> None:
    """The error names the field, and what to send."""
    with pytest.raises(BadInput) as caught:
        validate_body(kind, body)
    assert (caught.value.code, caught.value.field) == (code, field)
