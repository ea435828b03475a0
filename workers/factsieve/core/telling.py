"""A decision in words, for people: who settled it, why, what the guard found, what it cost.

All functions take a decision as the JSON value of `fact-decisions` (schemas/fact.decision.v1.json), so that what came from the topic and
what came from the ledger are told alike. Nothing here is escaped: the texts are data.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

DecisionValue = Mapping[str, Any]

DecidedBy = Literal["window", "text", "bands", "rules", "nli", "model", "operator", "refused"]
"""What settled a decision: the hash window, the exact text, similarity and guard alone, a local judge, a language model, a command."""

KINDS: Final = ("add", "update", "supersede", "merge", "skip")
COMMANDS: Final = ("revert", "retract", "review", "erase")

REASONS: Final[Mapping[str, str]] = {
    "exact_duplicate": "The same words are known already.",
    "similar": "It says what is known already: similar enough, and the guard found no difference that matters.",
    "judged_same": "The judge says that it is known already.",
    "late_repeat": "It came late and repeats what was true at its time.",
    "late_history": "It came late and was filed in the past, where it belongs.",
    "late_detail": "It came late with a detail that no past wording could take up, so it was added.",
    "reasserted": "It was said again after something that may contradict it.",
    "cold_start": "Nothing was known here yet.",
    "new": "Nothing that is known is near enough.",
    "judged_new": "Something known is near, but the judge says that this is another statement.",
    "no_answer": "The judge gave no usable answer. In doubt it was added.",
    "unusable_wording": "The judge's new wording said something that nobody had said, so the statement was added as it is.",
    "replaces": "It takes the place of what was known.",
    "refines": "It adds detail to what was known: the wording was revised.",
    "merged": "It and what was known became one statement.",
    "erased": "What it said was erased for good.",
    "rejected": "The input could not be used.",
    "known_downstream": "The downstream collection has it already, so ingest was not told.",
}
"""Each reason of the rules, as a sentence."""

FINDINGS: Final[Mapping[str, str]] = {
    "antonym": "opposite words",
    "coverage": "too little in common",
    "currency": "another currency",
    "date": "another date",
    "direction": "another direction",
    "entity": "another name",
    "hedge": "a condition or guess",
    "identifier": "another identifier",
    "modality": "another modality",
    "negation": "a denial",
    "novelty": "content on one side only",
    "number": "another number",
    "quantifier": "another extent",
    "question": "a question",
    "relative_time": "a relative time",
    "role_order": "roles exchanged",
    "substitution": "another word",
    "symbol": "another symbol",
    "tense": "another tense",
    "time": "another time of day",
    "unit": "another unit",
    "unknown_language": "no rules for this script",
    "version": "another version",
}
"""Each kind of guard finding, in words."""

BANDS: Final[Mapping[str, str]] = {
    "exact": "the same words",
    "known": "at or above the skip threshold",
    "ambiguous": "ambiguous: the judge chooses",
    "supersede_eligible": "near: it may replace something",
    "new": "below all thresholds",
    "none": "nothing to compare with",
}
"""Each band, in words."""

_CHANGES: Final[Mapping[str, str]] = {
    "added": "stored",
    "updated": "reworded",
    "superseded": "in force",
    "merged": "merged",
    "reverted": "back",
    "retracted": "withdrawn",
    "erased": "erased",
}
"""What became of a fact, by the type of the change."""

_WITHOUT_JUDGE: Final[Mapping[str, str]] = {
    "cold_start": "nothing to compare with",
    "late_history": "its time, and the guard",
    "late_repeat": "its time, and the guard",
    "erased": "an erasure",
}
"""What settles a decision that neither a judge nor a similarity does, by its reason."""


class Cost(msgspec.Struct, frozen=True):
    """What asking judges cost: time in ms, tokens read and written, and how many questions went to a language model."""

    latency_ms: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0

    @property
    def tokens(self) -> int:
        """Return how many tokens there were in all."""
        return self.prompt_tokens + self.completion_tokens


def kind_of(value: DecisionValue) -> str:
    """Return a decision's kind, a command's own kind, or `refused`."""
    return value.get("decision") or value.get("command") or "refused"


def is_model(note: Mapping[str, Any]) -> bool:
    """Return whether a judge's note is that of a language model: neither rules nor a local NLI model."""
    return not str(note.get("judge", "")).startswith(("rules", "nli"))


def settling_note(value: DecisionValue) -> Mapping[str, Any] | None:
    """Return the note of the judge that chose; None where none did. One that only confirmed a skip, or gave no answer, chose nothing."""
    for note in reversed(value.get("judges") or ()):
        if note.get("asked") == "choose" and note.get("choice") is not None:
            found: Mapping[str, Any] = note
            return found
    return None


def decided_by(value: DecisionValue) -> DecidedBy:
    """Return what settled a decision."""
    if value.get("command") is not None:
        return "operator"
    if value.get("decision") is None:
        return "refused"
    if value.get("via") == "hash_window":
        return "window"
    if value.get("via") == "text":
        return "text"
    note = settling_note(value)
    if note is None:
        return "bands"
    if is_model(note):
        return "model"
    return "nli" if str(note["judge"]).startswith("nli") else "rules"


def who_decided(value: DecisionValue) -> str:
    """Return in a few words what settled a decision."""
    who = decided_by(value)
    note = settling_note(value)
    if note is not None and who in ("rules", "nli", "model"):
        model = note.get("model")
        named = (
            f"{note['judge']} ({model})"
            if who == "model" and model and model not in str(note["judge"])
            else note["judge"]
        )
        return {"rules": "rules, no model", "nli": f"local NLI model {named}"}.get(who, f"language model {named}")
    if who == "bands":
        confirmed = [
            one["judge"] for one in value.get("judges") or () if one.get("asked") == "confirm" and one.get("choice")
        ]
        silent = [one["judge"] for one in value.get("judges") or () if one.get("choice") is None]
        if silent:
            return f"nobody: {', '.join(silent)} did not answer"
        plainly = _WITHOUT_JUDGE.get(str(value.get("reason")), "similarity and guard")
        return plainly + (f", confirmed by {', '.join(confirmed)}" if confirmed else "")
    return {
        "window": "hash window, no search",
        "text": "exact text, no search",
        "operator": "an operator's command",
        "refused": "input check",
    }[who]


def cost_of(values: Iterable[DecisionValue]) -> Cost:
    """Return what asking judges cost, over some decisions."""
    notes = [note for value in values for note in value.get("judges") or ()]
    return Cost(
        latency_ms=round(sum(float(note.get("latency_ms") or 0.0) for note in notes), 3),
        prompt_tokens=sum(int(note.get("prompt_tokens") or 0) for note in notes),
        completion_tokens=sum(int(note.get("completion_tokens") or 0) for note in notes),
        model_calls=sum(is_model(note) for note in notes),
    )


def cost_words(cost: Cost) -> str:
    """Return a cost in a few words; empty where nobody was asked."""
    said = []
    if cost.latency_ms:
        said.append(latency_words(cost.latency_ms))
    if cost.tokens:
        said.append(f"{cost.prompt_tokens:,} + {cost.completion_tokens:,} tokens")
    return ", ".join(said)


def latency_words(latency_ms: float) -> str:
    """Return a time in ms as people write it."""
    if latency_ms < 1:
        return "under 1 ms"
    return f"{latency_ms:.0f} ms" if latency_ms < 1_000 else f"{latency_ms / 1_000:.1f} s"


def why(value: DecisionValue) -> str:
    """Return why it was decided so, as a sentence; of a command or a refusal what was said of it."""
    if value.get("command") is not None:
        outcome = {"applied": "Carried out", "refused": "Refused", "no_op": "Nothing to do"}.get(
            str(value.get("outcome")), ""
        )
        return f"{outcome}: {value.get('reason')}"
    error = value.get("error")
    if error:
        return str(error.get("message"))
    reason = str(value.get("reason", ""))
    return REASONS.get(reason, reason.replace("_", " "))


def change_word(change: Mapping[str, Any]) -> str:
    """Return what became of a fact by a change, as `new-facts` and the outcome of a command tell it."""
    if change["type"] == "reverted" and change["fact"]["status"] == "past":
        return "past again"
    return _CHANGES[change["type"]]


def review_words(review: str) -> str:
    """Return why a person should look at it."""
    kind, _, rest = review.partition(":")
    said = {
        "conflict": "may contradict something known",
        "no_answer": "the judge did not answer",
        "unusable_wording": "the judge's wording could not be used",
    }.get(kind, kind.replace("_", " "))
    return f"{said} ({rest.strip()})" if rest.strip() else said


def finding_words(finding: Mapping[str, str]) -> str:
    """Return a guard finding in words: what differs, what the statement has, what the known fact has."""
    label = FINDINGS.get(finding["kind"], finding["kind"].replace("_", " "))
    ours, theirs = finding["ours"], finding["theirs"]
    if ours and theirs:
        return f"{label}: “{ours}”, known is “{theirs}”"
    if ours or theirs:
        return f"{label}: “{ours}” is new" if ours else f"{label}: without “{theirs}”"
    return label
