"""The bodies of the operator's commands."""

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Final

from factsieve.core.errors import BadInput
from factsieve.core.facts import Kind
from factsieve.wire.document import describe

MAX_REASON_CHARS: Final = 1000
MAX_TARGETS: Final = 64
MAX_TEXT_CHARS: Final = 8192

_Check = Callable[[str, object], None]


def _refuse(field: str, value: object, wanted: str) -> BadInput:
    return BadInput("wrong_type", f"{field} is a {describe(value)}: send {wanted}", field=field)


def _is_id(field: str, value: object) -> None:
    try:
        if isinstance(value, str) and str(uuid.UUID(value)) == value:
            return
    except ValueError:
        pass
    raise _refuse(field, value, "a UUID in lower case with hyphens, as `factsieve facts` and `activity` print them")


def _is_ids(field: str, value: object) -> None:
    if not isinstance(value, list) or len(value) > MAX_TARGETS:
        raise _refuse(field, value, f"a list of at most {MAX_TARGETS} fact ids")
    for index, item in enumerate(value):
        _is_id(f"{field}[{index}]", item)


def _is_bool(field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise _refuse(field, value, "true or false")


def _is_kind(field: str, value: object) -> None:
    kinds = [kind.value for kind in Kind]
    if value not in kinds:
        raise _refuse(field, value, f"one of {', '.join(kinds)}")


def _is_text(limit: int) -> _Check:
    def check(field: str, value: object) -> None:
        if not isinstance(value, str) or not value.strip() or len(value) > limit:
            raise _refuse(field, value, f"a string of at most {limit} characters that is not blank")

    return check


def _is_key(field: str, value: object) -> None:
    if not isinstance(value, str) or re.fullmatch("[0-9a-f]{64}", value) is None:
        raise _refuse(
            field, value, "an event key: 64 hexadecimal digits in lower case, as `factsieve activity --json` prints it"
        )


def _is_true(field: str, value: object) -> None:
    if value is not True:
        raise _refuse(field, value, "true, or leave it out")


_DECISION: Final[Mapping[str, _Check]] = {
    "decision_id": _is_id,
    "event_key": _is_key,
    "event_id": _is_text(MAX_TEXT_CHARS),
}
_SUBJECT: Final[Mapping[str, Mapping[str, _Check]]] = {
    "revert": _DECISION,
    "retract": {"fact_id": _is_id},
    "erase": {"fact_id": _is_id, **_DECISION, "whole_namespace": _is_true},
    "review": {**_DECISION, "fact_id": _is_id},
}
"""What a command is about: exactly one of these."""

_CHOICE: Final[Mapping[str, Mapping[str, _Check]]] = {"review": {"decision": _is_kind, "ask": _is_true}}
"""What is to be done: exactly one of these."""

_SOURCE: Final[Mapping[str, _Check]] = {"ce_source": _is_text(MAX_TEXT_CHARS)}
_OPTIONAL: Final[Mapping[str, Mapping[str, _Check]]] = {
    "revert": {**_SOURCE, "drop_newer": _is_bool, "force": _is_bool},
    "retract": {},
    "erase": _SOURCE,
    "review": {**_SOURCE, "targets": _is_ids, "text": _is_text(MAX_TEXT_CHARS)},
}
_EVERYWHERE: Final[Mapping[str, _Check]] = {"reason": _is_text(MAX_REASON_CHARS)}


def validate_body(kind: str, body: Mapping[str, object]) -> None:
    """Check a command's body by shape; unknown fields are ignored, null counts as absent.

    A decision is named by exactly one of `decision_id`, `event_key` and `event_id` (with `ce_source` it is found faster). revert: a
    decision, optional `drop_newer` (false: what superseded stays beside what comes back) and `force` (despite later changes). retract:
    `fact_id`. erase: `fact_id`, a decision (whose statement is erased), or `whole_namespace` true. review: a decision (the flagged one)
    or `fact_id`; `decision` (one of the five; optional `targets`, fact ids, and `text` of an update or merge) or `ask` true (the judge
    decides). Each may carry a `reason`. Raises BadInput `missing_field` or `wrong_type`.
    """
    for choices in (_SUBJECT[kind], _CHOICE.get(kind, {})):
        given = [field for field in choices if body.get(field) is not None]
        if choices and not given:
            raise BadInput(
                "missing_field",
                f"the body of fact.{kind}.v1 needs {' or '.join(choices)}: nothing says what it is about",
                field=next(iter(choices)),
            )
        if len(given) > 1:
            raise BadInput(
                "wrong_type",
                f"the body of fact.{kind}.v1 has {' and '.join(given)}: send only one of them",
                field=given[1],
            )
        for field in given:
            choices[field](field, body[field])
    for field, check in {**_OPTIONAL[kind], **_EVERYWHERE}.items():
        if body.get(field) is not None:
            check(field, body[field])
