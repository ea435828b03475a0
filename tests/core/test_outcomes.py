"""Counting whole decisions."""

from factsieve.core.facts import Kind
from factsieve.core.outcomes import Outcome, Share, confusion, misses, summarise


def outcome(label, decision, similarity=0.9, *, stands=None, pair_id="1"):
    stays = decision in (Kind.ADD, Kind.SKIP) if stands is None else stands
    return Outcome("set", pair_id, label, "c", similarity, decision, "r", stays, asked=False)


ROWS = [
    outcome("contradiction", Kind.SKIP, 0.88),
    outcome("contradiction", Kind.SKIP, 0.87),
    outcome("contradiction", Kind.SUPERSEDE, 0.71),
    outcome("contradiction", Kind.SUPERSEDE, 0.95),
    outcome("contradiction", Kind.UPDATE, 0.95),
    outcome("contradiction", Kind.ADD, 0.75),
    outcome("distinct", Kind.SUPERSEDE, 0.72),
    outcome("distinct", Kind.SUPERSEDE, 0.71),
    outcome("distinct", Kind.UPDATE, 0.9),
    outcome("distinct", Kind.ADD, 0.9),
    outcome("duplicate", Kind.SKIP, 0.9),
    outcome("duplicate", Kind.SKIP, 0.5),
    outcome("duplicate", Kind.SUPERSEDE, 0.9),
    outcome("update", Kind.SKIP, 0.9),
    outcome("update", Kind.UPDATE, 0.9),
]


def test_each_rate_has_its_own_denominator():
    """False skips and yield count from the skip threshold on, retirements at any similarity, the near ones from the supersede threshold."""
    found = summarise(ROWS, skip_threshold=0.88, supersede_threshold=0.72)
    assert found.false_skips == Share(1, 3)
    assert found.lost_distinct == Share(0, 2)
    assert found.lost_updates == Share(1, 2)
    assert found.skipped_yield == Share(1, 2)
    assert found.wrong_retirements == Share(3, 7)
    assert found.near_wrong_retirements == Share(1, 3)
    assert found.wrong_revisions == Share(1, 4)
    assert found.right_retirements == Share(2, 6)
    assert found.near_right_retirements == Share(1, 5)
    assert found.replaced == Share(3, 6)
    assert found.any_skips == Share(2, 10)


def test_nothing_of_nothing_is_no_failure():
    """A share of nothing is 0.0."""
    assert Share(0, 0).rate == 0.0


def test_the_confusion_counts_every_pair_once():
    """Overall the cells of a label add up to its pairs; from a similarity on only those at or above it count."""
    table = confusion(ROWS)
    assert {label: sum(row.values()) for label, row in table.items()} == {
        "duplicate": 3,
        "update": 2,
        "contradiction": 6,
        "distinct": 4,
    }
    assert table["contradiction"][Kind.SKIP] == 2
    assert confusion(ROWS, 0.88)["contradiction"][Kind.SKIP] == 1


def test_misses_come_worst_first():
    """False skips lead, then wrong retirements; what was decided rightly is not among them."""
    names = [name for name, _ in misses(ROWS)]
    assert names == [
        *["false skip"] * 3,
        *["wrong retirement"] * 3,
        "wrong revision",
        "missed retirement",
    ]
    assert misses([outcome("duplicate", Kind.ADD)])[0][0] == "missed skip"
    assert misses([outcome("duplicate", Kind.SKIP), outcome("distinct", Kind.ADD)]) == []
