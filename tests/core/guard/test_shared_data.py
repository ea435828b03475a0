"""The guard on the public data sets: skips where they are absent."""

import base64
import json
import sys
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from guard_helpers import MAY_6

from factsieve.core.guard import compare, features, introduces, names_relative_time

sys.path.insert(0, str(Path(__file__).parents[2] / "quality"))
from value_pairs import value_pairs

pytestmark = pytest.mark.shared


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_changed_value_in_a_real_sentence_is_never_clear(shared: Path) -> None:
    """2,000 pairs that differ in one number, date, unit or identifier only: the guard alone keeps every one from a skip."""
    texts = [
        text
        for name in (
            "replace_or_both",
            "locomo_labelled",
            "gptcache_mock",
            "situatedqa_dev",
            "mrpc_val",
            "sick_trial",
            "glue_negation",
        )
        for row in _rows(shared / "data/pairs" / f"{name}.jsonl")
        for text in (row["a"], row["b"])
    ]
    pairs = value_pairs(texts, 2000, seed=11)
    assert len(pairs) == 2000
    assert [pair for pair in pairs if compare(features(pair[2], MAY_6), features(pair[1], MAY_6)).clear] == []


def test_strings_that_break_parsers_do_not_break_the_guard(shared: Path) -> None:
    """Each naughty string has features and compares with each of its neighbours."""
    naughty = [
        base64.b64decode(text).decode("utf-8", "replace")
        for text in json.loads((shared / "data/messy/naughty_strings.base64.json").read_text())
    ]
    assert len(naughty) > 400
    read = [features(text, MAY_6) for text in naughty]
    for one, other in pairwise(read):
        compare(one, other)
        assert compare(one, one).clear
    for text in naughty:
        introduces(text, [text])
        names_relative_time(text)


def test_no_scenario_is_cleared_that_may_not_be_skipped(shared: Path) -> None:
    """Of the decision cases, a pair of differing texts is clear only where a skip is an accepted decision."""
    wrong = []
    for case in _rows(shared / "cases/scenarios.jsonl"):
        for later, fact in enumerate(case["facts"]):
            for earlier in case["facts"][:later]:
                if fact["text"] == earlier["text"] or fact.get("namespace") != earlier.get("namespace"):
                    continue
                ours, theirs = (features(f["text"], datetime.fromisoformat(f["occurred_at"])) for f in (fact, earlier))
                if compare(ours, theirs).clear and "skip" not in case["expect"][later]:
                    wrong.append((case["id"], earlier["text"], fact["text"]))
    assert wrong == []
