"""Which facts' texts a ledger record is indexed by: an erase finds the record by them."""

import json
from pathlib import Path

import msgspec

from factsieve.core.decision import Entry
from factsieve.engine.perform import held_facts
from factsieve.wire.recorded import decided_entry

EXAMPLE = Path(__file__).resolve().parents[2] / "schemas" / "examples" / "valid" / "decision-supersede.json"


def entry() -> Entry:
    value = json.loads(EXAMPLE.read_text(encoding="utf-8"))["value"]
    told = decided_entry(msgspec.json.encode(value))
    assert told is not None
    change = told.changes[0]
    return msgspec.structs.replace(
        told,
        decision=msgspec.structs.replace(
            told.decision,
            fact_id="result",
            matched_id="matched",
            superseded_ids=("retired",),
            neighbours=(msgspec.structs.replace(told.decision.neighbours[0], fact_id="near"),),
            judges=(),
            findings=(),
        ),
        effects=(msgspec.structs.replace(told.effects[0], fact_id="written"),),
        changes=(
            msgspec.structs.replace(
                change, replaced=(msgspec.structs.replace(change.replaced[0], fact_id="replaced"),)
            ),
        ),
    )


def test_every_fact_whose_text_may_be_held() -> None:
    """Written, replaced, resulting, matched and retired facts, all of them at once."""
    assert held_facts(entry()) == {"written", "replaced", "result", "matched", "retired"}


def test_neighbours_are_held_where_they_are_quoted() -> None:
    """What a judge or the guard says may quote a neighbour; its id and similarity alone hold no text."""
    one = entry()
    value = json.loads(EXAMPLE.read_text(encoding="utf-8"))["value"]
    said = decided_entry(msgspec.json.encode(value))
    assert said is not None
    assert said.decision.judges or said.decision.findings
    quoted = msgspec.structs.replace(one.decision, judges=said.decision.judges, findings=said.decision.findings)
    assert "near" in held_facts(msgspec.structs.replace(one, decision=quoted))
