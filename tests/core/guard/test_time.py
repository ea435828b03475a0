"""Relative time: named, resolved against the time of the statement, compared with dates."""

from datetime import UTC, datetime

import pytest
from guard_helpers import MAY_6, against, kinds

from factsieve.core.guard import names_relative_time, resolves_same

MAY_7 = datetime(2025, 5, 7, 10, tzinfo=UTC)
MAY_13 = datetime(2025, 5, 13, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "The audit is tomorrow.",
        "She left yesterday.",
        "The audit is next Monday.",
        "Last week the pump broke.",
        "The pass ends in two days.",
        "He moved 3 months ago.",
        "Die Prüfung ist morgen.",
        "La visita es mañana.",
        "Le train part demain.",
        "Проверка завтра.",
        "会议在明天。",
        "点検は来週です。",
        "회의는 내일이다.",
    ],
)
def test_relative_time_is_seen(text: str) -> None:
    """Words that mean another day on another day are found in the main languages."""
    assert names_relative_time(text)
    assert not resolves_same(text, MAY_6, datetime(2026, 9, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "text", ["The shop closes on Mondays.", "The audit is on 4 May 2026.", "The pump needs two days of rest.", "", "🙂"]
)
def test_absolute_time_is_not_relative(text: str) -> None:
    """Recurring days, dates and durations mean the same whenever they are said."""
    assert not names_relative_time(text)
    assert resolves_same(text, MAY_6, MAY_13)


def test_resolution_depends_on_the_day_only() -> None:
    """`tomorrow` moves every day, `next week` with the week, and nothing moves within a day."""
    assert not resolves_same("The audit is tomorrow.", MAY_6, MAY_7)
    assert resolves_same("The audit is tomorrow.", MAY_6, MAY_6.replace(hour=23))
    assert resolves_same("The audit is next week.", MAY_6, MAY_7)
    assert not resolves_same("The audit is next week.", MAY_6, MAY_13)
    assert resolves_same("The audit is next Monday.", MAY_6, MAY_7)


def test_a_repeat_on_another_day_is_another_statement() -> None:
    """The same words a day later speak of another day; the resolved date said in full is the same."""
    assert "relative_time" in kinds(against("The audit is tomorrow.", "The audit is tomorrow.", at=MAY_7))
    assert against("The audit is tomorrow.", "The audit is on 7 May 2025.").clear
    assert "relative_time" in kinds(against("The audit is tomorrow.", "The audit is on 8 May 2025."))


def test_the_ends_of_the_calendar_do_not_crash() -> None:
    """`next year` in the year 9999 has no date; it is then an ordinary text."""
    for at in (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)):
        for text in (
            "tomorrow",
            "yesterday",
            "next year",
            "in 90 years",
            "last month",
            "300 years ago",
            "next Friday",
            "last quarter",
        ):
            assert isinstance(resolves_same(text, at, MAY_6), bool)
