"""Which past records a replay sends in again, and that they stay the events that they are."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_builders import CE, LIMITS, NOW, candidate, record

from factsieve.core.facts import Candidate, Record
from factsieve.wire.deadletters import replay_message
from factsieve.wire.inbound import decode
from factsieve.wire.replaying import Fate, Selection, look
from factsieve.wire.times import format_rfc3339
from factsieve.wire.topics import COMMAND_TYPES, Topics

TOPICS = Topics()
ALL = Selection()


def arrived_again(one: Record, replay_id: str = "r1", *, emit: bool = False, offset: int = 999) -> Record:
    message = replay_message(TOPICS, one, replay_id, emit=emit)
    return Record(TOPICS.candidates, 5, offset, one.timestamp_ms + 10**7, message.key, message.value, message.headers)


@pytest.mark.parametrize("headers", [CE, (), CE[:2], CE[:3], (CE[0], CE[1], CE[3])], ids=len)
@pytest.mark.parametrize("stated", [{}, {"occurred_at": "2026-03-01T00:00:00Z"}])
def test_a_replayed_record_is_the_same_event(headers, stated) -> None:
    """Key, body, name and time of an event survive a replay, and a replay of a replay, whether it names itself or not."""
    first = record(candidate(**stated), headers=headers)
    event = decode(first, LIMITS, NOW)
    again = first
    for number in range(3):
        again = arrived_again(again, f"r{number}", emit=number == 1, offset=1000 + number)
        told = decode(again, LIMITS, NOW)
        assert isinstance(told, Candidate)
        assert isinstance(event, Candidate)
        for name in ("event_key", "body_hash", "event_id", "occurred_at", "ce_time", "text"):
            assert getattr(told, name) == getattr(event, name), name
        assert (told.replay_id, told.replay_emit) == (f"r{number}", number == 1)
        assert told.coordinates != event.coordinates


def test_commands_replays_and_records_without_effect_are_passed_over() -> None:
    """Commands, what a replay sent, and records without key or value are not sent again; what was refused is."""
    for kind in COMMAND_TYPES:
        assert look(record({}, headers=(("ce_type", kind.encode()),)), ALL, LIMITS, NOW).fate is Fate.COMMAND
    assert look(arrived_again(record(candidate())), ALL, LIMITS, NOW).fate is Fate.REPLAYED
    assert look(record(candidate(), key=None), ALL, LIMITS, NOW).fate is Fate.UNUSABLE
    assert look(Record("t", 0, 0, 0, b"team", None), ALL, LIMITS, NOW).fate is Fate.UNUSABLE
    assert look(record(raw=b"no json"), ALL, LIMITS, NOW).fate is Fate.CHOSEN
    assert look(record(raw=b"no json"), ALL, LIMITS, NOW).candidate is None


@given(st.integers(-3, 3), st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3), st.booleans())
def test_times_are_half_open(at: int, since: int | None, until: int | None, by_record: bool) -> None:
    """`since` belongs to the range, `until` does not; event time and record time are told apart."""
    hour = timedelta(hours=1)
    stated = record(candidate(occurred_at=format_rfc3339(NOW + (at - 10) * hour)))
    if by_record:
        stated = record(
            candidate(occurred_at="2020-01-01T00:00:00Z"), timestamp_ms=int((NOW + (at - 10) * hour).timestamp() * 1000)
        )
    selection = Selection(
        since=None if since is None else NOW + (since - 10) * hour,
        until=None if until is None else NOW + (until - 10) * hour,
        by_record=by_record,
    )
    wanted = (since is None or since <= at) and (until is None or at < until)
    assert (look(stated, selection, LIMITS, NOW).fate is Fate.CHOSEN) is wanted
    assert look(stated, selection, LIMITS, NOW).fate in (Fate.CHOSEN, Fate.OTHER_TIME)


def test_namespaces_are_chosen_by_key() -> None:
    """Only records of the named namespaces are sent."""
    only = Selection(namespaces=frozenset({"team"}))
    assert look(record(candidate()), only, LIMITS, NOW).fate is Fate.CHOSEN
    assert look(record(candidate(namespace="other"), key=b"other"), only, LIMITS, NOW).fate is Fate.OTHER_NAMESPACE
