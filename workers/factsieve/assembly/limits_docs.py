"""Writes `docs/limits.md` from the settings: `python -m factsieve.assembly.limits_docs > docs/limits.md`."""

import sys
from collections.abc import Iterator
from typing import Final

import msgspec

from factsieve.assembly.settings import setting_names
from factsieve.wire.headers import MAX_HEADER_BYTES


class Limit(msgspec.Struct, frozen=True):
    """One limit: the setting that says how much, and what happens beyond it."""

    setting: str
    beyond: str


REFUSED: Final = "refused as `{}`"

LIMITS: Final[dict[str, tuple[Limit, ...]]] = {
    "What a record may be": (
        Limit("limits.max_text_chars", REFUSED.format("text_too_long")),
        Limit("limits.max_value_bytes", REFUSED.format("record_too_large")),
        Limit("limits.max_attributes_bytes", REFUSED.format("attributes_too_large")),
        Limit("limits.max_namespace_chars", REFUSED.format("bad_namespace")),
        Limit("limits.max_slot_chars", REFUSED.format("bad_slot")),
        Limit("limits.max_nesting", REFUSED.format("not_json")),
        Limit("policy.future_limit_s", REFUSED.format("future_time")),
        Limit("commands.max_age_s", "a command is refused as `command_unauthorised`"),
    ),
    "How much is taken in": (
        Limit("engine.max_in_flight", "nothing more is taken in until something is done"),
        Limit("engine.max_lane_events", "the partition of the next event of that namespace waits, others go on"),
        Limit("kafka.partition_buffer_records", "no more of that partition is pulled, others go on"),
        Limit("kafka.partition_buffer_bytes", "the same"),
        Limit("kafka.partition_span_records", "the same"),
    ),
    "How much is done at once": (
        Limit("engine.wave_size", "the rest of the namespace's events is in its next wave"),
        Limit(
            "engine.batch_items",
            "what is asked of a store or the embedder is split into several calls, but for one caller's own",
        ),
        Limit(
            "policy.supersede_scan_limit", "further neighbours are not looked at, neither by the guard nor by the judge"
        ),
        Limit(
            "policy.merge_text_limit",
            "a text that the judge wrote is not used: the candidate's own is, or it is an `add`",
        ),
        Limit("judge.hold_s", "an event whose judge does not answer is added for review"),
        Limit("embedder.cache_size", "the vectors that were not asked for longest are forgotten"),
    ),
    "How long failures go on": (
        Limit("engine.poison_tries", "an event that fails alone is set aside"),
        Limit("engine.poison_in_a_row", "events are no longer blamed, and wait"),
        Limit("worker.poison_deaths", "what processes died of is refused"),
        Limit("worker.drain_timeout_s", "a partition is given up with what is not done, which comes again"),
        Limit("worker.stop_deadline_s", "the process ends; what is not done comes again"),
        Limit("worker.watchdog_timeout_s", "the process ends, to be started anew"),
    ),
}

_HEAD: Final = f"""# Limits

Made by `python -m factsieve.assembly.limits_docs`; do not edit.

Every limit is a setting ([settings.md](settings.md)), is held exactly, and what is exactly at it is still taken. A
record beyond one is refused: it goes to the dead letter topic with the code that is named here, and may be corrected
and sent again ([deadletters.md](deadletters.md)).

A namespace, a session id and a slot are any text that is not only whitespace and holds no control characters, line
breaks or half surrogate pairs. The key is the namespace, as UTF-8. Of a header that is read, at most
{MAX_HEADER_BYTES} bytes are taken (`record_too_large`); other headers are not looked at. A fact remembers at most 16
instants at which it was stated, the first and the latest.
"""

_TAIL: Final = """## What may be told of a decision

A decision travels with its whole effect, so one that retires many long statements takes more than the statement that
brought it about. Before it is recorded, what is to be told of it is compared with the lower of
`kafka.max_request_bytes` and the topic's `max.message.bytes` in `schemas/asyncapi.yaml` (4 MB for `fact-decisions` and
`new-facts`, 1 MB for the others). One that would not fit is not made: the event goes to the dead letter topic as
`decision_too_large`, those behind it go on. What is recorded can so always be told, as long as the topics on the
brokers let through what the file says (`factsieve topics check`).

## Memory

What a worker holds does not grow with what waits on the topic, nor with how many namespaces there are: a namespace
costs something only while events of it are in flight. At most `kafka.partition_buffer_bytes` (and one fetch) wait for
each assigned partition, at most `engine.max_in_flight` events are taken in. Caches are bounded by entries: vectors
(`embedder.cache_size`, 1.5 kB each with 384 dimensions), pairs that an NLI model scored (65,536), the guard's
features and comparisons (16,384 each). Metrics carry no namespaces.
"""


def render() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *_tables(), _TAIL]).rstrip() + "\n"


def _tables() -> Iterator[str]:
    found = {name: model.model_fields[field] for name, model, field in setting_names()}
    for title, limits in LIMITS.items():
        yield f"## {title}\n"
        yield "| setting | default | limit | beyond it |"
        yield "| --- | --- | --- | --- |"
        for limit in limits:
            info = found[limit.setting]
            meaning = " ".join((info.description or "").split())
            yield f"| `{limit.setting}` | {_plain(info.default)} | {meaning} | {limit.beyond} |"
        yield ""


def _plain(number: float) -> str:
    """Return a number with its thousands set apart, without an empty fraction."""
    return f"{int(number):,}" if number == int(number) else f"{number:,}"


if __name__ == "__main__":
    sys.stdout.write(render())
