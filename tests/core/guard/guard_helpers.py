"""What the guard's tests share: two texts compared in one call."""

from datetime import UTC, datetime

from factsieve.core.guard import Comparison, compare, features

MAY_6 = datetime(2025, 5, 6, 10, tzinfo=UTC)  # a Tuesday


def against(stored: str, candidate: str, at: datetime = MAY_6, stored_at: datetime = MAY_6) -> Comparison:
    """Compare a candidate with a stored text."""
    return compare(features(candidate, at), features(stored, stored_at))


def kinds(comparison: Comparison) -> set[str]:
    """Return the kinds of what forbids a skip."""
    return {finding.kind for finding in (*comparison.findings, *comparison.novelty)}
