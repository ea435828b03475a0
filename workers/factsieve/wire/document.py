"""A record's value to a Python object: what counts as JSON here, and which offence has which code.

Decided, where RFC 8259 leaves room or producers do as they like:

- `NaN`, `Infinity` and numbers that no double can hold are no JSON. Where they stand in `embedding` or `dedup_threshold` the record is
  refused for that field, elsewhere as `not_json`.
- Of a repeated key the last one counts.
- Integers keep their value; one that 64 signed bits cannot hold is refused where it would be stored (`attributes`).
- A byte order mark is refused as `not_json`, half a surrogate pair (raw or as an escape) as `not_utf8`.
- A document nested deeper than the limit is refused as `not_json`, wherever the nesting is.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import msgspec

from factsieve.core.errors import BadInput, RejectCode

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[\[{]|[\]}]")
_BOM: Final = b"\xef\xbb\xbf"
_NON_FINITE_FIELDS: Final[dict[str, RejectCode]] = {"embedding": "bad_embedding", "dedup_threshold": "bad_threshold"}


def parse_object(value: bytes, max_nesting: int) -> dict[str, Any]:
    """Return the JSON object that a record's value holds.

    Raises BadInput: `not_utf8`, `not_json`, `not_an_object`, and `bad_embedding` or `bad_threshold` for a NaN or infinite number there.
    """
    _check_nesting(value, max_nesting)
    try:
        document = msgspec.json.decode(value)
    except msgspec.DecodeError as error:
        _explain(value, str(error))
    if not isinstance(document, dict):
        raise BadInput(
            "not_an_object",
            f'the value is a JSON {_json_type(document)}, an object was expected: {{"text": ..., "source": ...}}',
        )
    return document


def _check_nesting(value: bytes, max_nesting: int) -> None:
    """Bound the depth before parsing: a parser's own bound depends on the stack that it is called on."""
    if value.count(b"[") + value.count(b"{") <= max_nesting:
        return
    depth = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", value)):
        depth += 1 if bracket.group() in b"[{" else -1
        if depth > max_nesting:
            raise BadInput("not_json", f"the value is nested deeper than {max_nesting} levels: flatten it")


def _explain(value: bytes, complaint: str) -> NoReturn:
    """Raise the BadInput for a value that the parser refused."""
    if value.startswith(_BOM):
        raise BadInput("not_json", "the value starts with a byte order mark: send UTF-8 without one")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            "not_utf8", f"the value is not UTF-8: byte 0x{value[error.start]:02x} at {error.start}; encode it as UTF-8"
        ) from None
    try:
        lenient = json.loads(text, parse_int=_parse_int)
    except (ValueError, RecursionError):
        raise BadInput("not_json", f"the value is not JSON ({complaint}): {_excerpt(text)}") from None
    if isinstance(lenient, dict):
        for field, code in _NON_FINITE_FIELDS.items():
            if field in lenient and _has(lenient[field], _is_non_finite):
                raise BadInput(code, f"{field} holds NaN or an infinite number: send finite numbers", field=field)
    if _has(lenient, _is_non_finite):
        raise BadInput("not_json", "the value holds NaN or a number that no double can hold, which JSON does not have")
    if _has(lenient, _has_lone_surrogate):
        raise BadInput(
            "not_utf8", "the value holds half a surrogate pair, which UTF-8 can not carry: send whole characters"
        )
    raise BadInput("not_json", f"the value is not JSON ({complaint}): {_excerpt(text)}")


def _parse_int(digits: str) -> float:
    return math.inf if len(digits) > 4000 else int(digits)


def _has(node: object, offends: Callable[[object], bool]) -> bool:
    if isinstance(node, dict):
        return any(offends(key) or _has(item, offends) for key, item in node.items())
    if isinstance(node, list):
        return any(_has(item, offends) for item in node)
    return offends(node)


def _is_non_finite(node: object) -> bool:
    return isinstance(node, float) and not math.isfinite(node)


def _has_lone_surrogate(node: object) -> bool:
    """Return whether a string holds half a surrogate pair."""
    return isinstance(node, str) and any("\ud800" <= char <= "\udfff" for char in node)


def _json_type(node: object) -> str:
    if node is None:
        return "null"
    for types, name in ((bool, "boolean"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(node, types):
            return name
    return "number"


def describe(node: object) -> str:
    """Return a value's JSON type and a short excerpt, for messages: `number 5`, `string "abc"`."""
    if isinstance(node, (dict, list)):
        return f"{_json_type(node)} of {len(node)}"
    return f"{_json_type(node)} {_excerpt(json.dumps(node))}"


def string_of(document: Mapping[str, Any], field: str) -> str | None:
    """Return a string field, None where it is absent or null. Raises BadInput `wrong_type` for anything else."""
    value = document.get(field)
    if value is not None and not isinstance(value, str):
        raise BadInput("wrong_type", f"{field} is a {describe(value)}: send a string", field=field)
    return value


def _excerpt(text: str, limit: int = 60) -> str:
    """Return the start of a text, printable and on one line."""
    shown = ascii(text[:limit])[1:-1]
    return shown + ("..." if len(text) > limit else "")
