"""Numbers, dates, times, versions, identifiers and symbols of two texts set against each other."""

from __future__ import annotations

from collections.abc import Sequence

from factsieve.core.guard import days
from factsieve.core.guard.model import Finding, Value

_KINDS = {
    "number": "number",
    "one": "number",
    "currency": "currency",
    "date": "date",
    "time": "time",
    "version": "version",
    "identifier": "identifier",
    "symbol": "symbol",
}


def _kind(value: Value) -> str:
    if value.relative:
        return "relative_time"
    return _KINDS[value.family.partition(":")[0].partition("/")[0]]


def _same(a: Value, b: Value) -> bool:
    if a.canonical == b.canonical and a.family == b.family:
        return True
    if a.family == "date":
        if b.family == "date":
            if a.relative and b.relative and a.canonical != b.canonical:
                return False  # a week ago, a month ago: what one may lie in the other is chance
            return days.compatible(a.canonical, b.canonical)
        return b.family == "number" and a.canonical.startswith(b.canonical + "-") and len(b.canonical) == 4
    if b.family == "date":
        return a.family == "number" and b.canonical.startswith(a.canonical + "-") and len(a.canonical) == 4
    if {a.family, b.family} == {"one", "number"}:
        return a.canonical == b.canonical
    return False


def shared_values(ours: Sequence[Value], theirs: Sequence[Value]) -> int:
    """Return how many values both sides name, however often."""
    if not ours or not theirs:
        return 0
    return len({value.canonical for value in ours} & {value.canonical for value in theirs})


def compare_values(
    ours: Sequence[Value], theirs: Sequence[Value]
) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """Return what is different, what only `ours` (the candidate) has and what only `theirs` (the stored fact) has."""
    if not ours and not theirs:
        return [], [], []
    findings: list[Finding] = []
    novelty: list[Finding] = []
    missing: list[Finding] = []
    left = list(theirs)
    unequal = [value for value in ours if not _take(value, left)]
    for value in [value for value in unequal if not _take_compatible(value, left, novelty, missing)]:
        partner = _partner(value, left)
        if partner is None:
            if value.family != "one" and not _repeated(value, theirs):
                novelty.append(Finding(_kind(value), value.excerpt, ""))
            continue
        other = left.pop(partner)
        kind = "relative_time" if other.relative else _kind(value)
        if value.family != other.family and kind == "number" and _digits(value.excerpt) == _digits(other.excerpt):
            kind = "unit"
        findings.append(Finding(kind, value.excerpt, other.excerpt))
    missing.extend(
        Finding(_kind(value), "", value.excerpt)
        for value in left
        if value.family != "one" and not _repeated(value, ours)
    )
    return findings, novelty, missing


def _take(value: Value, left: list[Value]) -> bool:
    """Take the value that equals `value` out of `left`."""
    for index, other in enumerate(left):
        if value.canonical == other.canonical and value.family == other.family:
            del left[index]
            return True
    return False


def _take_compatible(value: Value, left: list[Value], novelty: list[Finding], missing: list[Finding]) -> bool:
    """Take out of `left` the value that may be the same as `value`, and note which of the two says more: 4 May, 4 May 2026."""
    for index, other in enumerate(left):
        if not _same(value, other):
            continue
        if (
            value.family == "date"
            and days.detail(value.canonical) > days.detail(other.canonical)
            and not value.relative
        ):
            novelty.append(Finding("date", value.excerpt, other.excerpt))
        elif other.family == "date" and days.detail(other.canonical) > days.detail(value.canonical):
            missing.append(Finding("date", value.excerpt, other.excerpt))
        del left[index]
        return True
    return False


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit() or c == ".")


def _repeated(value: Value, others: Sequence[Value]) -> bool:
    """Return whether a value that found no partner of its own is said on the other side after all (said twice here)."""
    return any(_same(value, other) for other in others)


def _partner(value: Value, left: Sequence[Value]) -> int | None:
    """Return the index of the value that stands where `value` stands: of its family first, then of its kind."""
    best: tuple[int, int] | None = None
    for index, other in enumerate(left):
        if other.family == value.family:
            distance = abs(other.position - value.position)
        elif _class(other) == _class(value):
            distance = 100 + abs(other.position - value.position)
        else:
            continue
        if best is None or distance < best[0]:
            best = (distance, index)
    return best[1] if best else None


def _class(value: Value) -> str:
    family = value.family.partition(":")[0]
    if family in ("number", "one", "currency"):
        return "amount"
    if family in ("date", "time"):
        return "moment"
    return family
