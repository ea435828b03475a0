"""The bodies of the operator's commands."""

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


_REQUIRED: Final[Mapping[str, Mapping[str, _Check]]] = {
    "revert": {"decision_id": _is_id},
    "retract": {"fact_id": _is_id},
    "erase": {"fact_id": _is_id},
    "review": {"decision_id": _is_id, "decision": _is_kind},
}
_OPTIONAL: Final[Mapping[str, Mapping[str, _Check]]] = {
    "revert": {"drop_newer": _is_bool},
    "retract": {},
    "erase": {},
    "review": {"targets": _is_ids, "text": _is_text(MAX_TEXT_CHARS)},
}
_EVERYWHERE: Final[Mapping[str, _Check]] = {"reason": _is_text(MAX_REASON_CHARS)}


def validate_body(kind: str, body: Mapping[str, object]) -> None:
    """Check a command's body by shape; unknown fields are ignored, null counts as absent.

    revert: `decision_id`, optional `drop_newer` (false: what superseded stays beside what comes back). retract, erase: `fact_id`.
    review: `decision_id` (the flagged one), `decision` (one of the five), optional `targets` (fact ids) and `text` (of an update or
    merge). Each may carry a `reason`. Raises BadInput `missing_field` or `wrong_type`.
    """
    for field, check in _REQUIRED[kind].items():
        if body.get(field) is None:
            raise BadInput("missing_field", f"{field} is missing in the body of fact.{kind}.v1", field=field)
        check(field, body[field])
    for field, check in {**_OPTIONAL[kind], **_EVERYWHERE}.items():
        if body.get(field) is not None:
            check(field, body[field])
