"""Filters: from the request's form to the engine's, with what strict mode wants to know about them."""

from __future__ import annotations  # several types of qdrant_edge exist in its stubs only

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import qdrant_edge as edge

from factsieve.localstack.qdrant_decode import ApiError, not_here
from factsieve.localstack.qdrant_values import engine_value
from factsieve.localstack.qdrant_wire import Condition, Filter, KeyOnly, Match, Range

ANY_INDEX: Final = ("keyword", "integer", "float", "bool", "datetime", "uuid")


class Need(NamedTuple):
    """A payload index that strict mode asks for: the field, the types that serve, and the faculty of an integer index."""

    key: str
    types: tuple[str, ...]
    faculty: str | None = None


class BuiltFilter(NamedTuple):
    """A filter for the engine, and the indexes that its conditions need."""

    engine: edge.Filter
    needs: list[Need]


def build_filter(given: Filter | None) -> BuiltFilter | None:
    """Return the engine's form of a filter, or None for none. Raises ApiError (400, 422 as Qdrant; 501)."""
    if given is None:
        return None
    needs: list[Need] = []
    return BuiltFilter(_filter(given, needs), needs)


def _filter(given: Filter, needs: list[Need]) -> edge.Filter:
    minimum = given.min_should
    return edge.Filter(
        must=_conditions(given.must, needs),
        should=_conditions(given.should, needs),
        must_not=_conditions(given.must_not, needs),
        min_should=None
        if minimum is None
        else edge.MinShould(_conditions(minimum.conditions, needs) or [], minimum.min_count),
    )


def _conditions(given: list[Condition] | Condition | None, needs: list[Need]) -> list[edge.ConditionType] | None:
    if given is None:
        return None
    return [_condition(one, needs) for one in (given if isinstance(given, list) else [given])]


def _condition(given: Condition, needs: list[Need]) -> edge.ConditionType:
    kinds: list[Callable[[Condition, list[Need]], edge.ConditionType]] = []
    if isinstance(given.key, str):
        kinds.append(_on_field)
    if isinstance(given.has_id, list):
        kinds.append(_on_id)
    if isinstance(given.is_empty, KeyOnly):
        kinds.append(_is_empty)
    if isinstance(given.is_null, KeyOnly):
        kinds.append(_is_null)
    if any(clause is not None for clause in (given.must, given.should, given.must_not, given.min_should)):
        kinds.append(_filter)
    on_field = (
        given.match is not None
        or given.range is not None
        or True
        in (
            isinstance(given.is_empty, bool),
            isinstance(given.is_null, bool),
        )
    )
    if len(kinds) != 1 or (on_field and kinds[0] is not _on_field):
        raise ApiError(
            400,
            "Format error in JSON body: a condition is exactly one of: on a field (key), has_id, is_empty, is_null, a filter",
        )
    return kinds[0](given, needs)


def _on_field(given: Condition, needs: list[Need]) -> edge.FieldCondition:
    key = str(given.key)
    asked = [given.match, given.range, given.is_empty, given.is_null]
    count = sum(1 for one in asked if one is not None)
    if count == 0:
        raise ApiError(422, f"Validation error in JSON body: {key}: at least one field condition must be specified")
    if count > 1:
        raise not_here(f"several conditions on {key} in one (write them one by one)")
    if given.match is not None:
        return engine_value(edge.FieldCondition, key=key, match=_match(key, given.match, needs))
    if given.range is not None:
        return engine_value(edge.FieldCondition, key=key, range=_range(key, given.range, needs))
    needs.append(Need(key, ANY_INDEX))
    if isinstance(given.is_empty, bool):
        return engine_value(edge.FieldCondition, key=key, is_empty=given.is_empty)
    assert isinstance(given.is_null, bool)
    return engine_value(edge.FieldCondition, key=key, is_null=given.is_null)


def _match(key: str, given: Match, needs: list[Need]) -> edge.MatchType:
    value, several, others = given.value, given.any, given.except_
    if [isinstance(value, (str, int)), isinstance(several, list), isinstance(others, list)].count(True) != 1:
        raise ApiError(400, f"Format error in JSON body: match on {key} needs exactly one of value, any, except")
    if isinstance(value, bool):
        needs.append(Need(key, ("bool",)))
        return edge.MatchValue(np.bool_(value))  # type: ignore[arg-type] # a Python bool is taken for the integer that it is
    if isinstance(value, (str, int)):
        _need_match(key, [value], needs)
        return engine_value(edge.MatchValue, value)
    if isinstance(several, list):
        _need_match(key, several, needs)
        return engine_value(edge.MatchAny, _one_type(key, several))
    assert isinstance(others, list)
    _need_match(key, others, needs)
    return engine_value(edge.MatchExcept, _one_type(key, others))


def _one_type(key: str, values: list[str | int]) -> list[str] | list[int]:
    texts = [value for value in values if isinstance(value, str)]
    numbers = [value for value in values if isinstance(value, int)]
    if texts and numbers:
        raise ApiError(400, f"Format error in JSON body: match on {key} mixes strings and integers")
    return texts or numbers


def _need_match(key: str, values: list[str | int], needs: list[Need]) -> None:
    if values and isinstance(values[0], str):
        needs.append(Need(key, ("keyword", "uuid")))
    else:
        needs.append(Need(key, ("integer",), "lookup"))


def _range(key: str, given: Range, needs: list[Need]) -> edge.RangeType:
    bounds = {name: bound for name in ("gt", "gte", "lt", "lte") if (bound := getattr(given, name)) is not None}
    texts = sum(isinstance(bound, str) for bound in bounds.values())
    if texts == 0:
        needs.append(Need(key, ("float", "integer"), "range"))
        return engine_value(edge.RangeFloat, **bounds)
    if texts < len(bounds):
        raise ApiError(400, f"Format error in JSON body: range on {key} mixes numbers and date-times")
    needs.append(Need(key, ("datetime",)))
    return engine_value(edge.RangeDateTime, **bounds)


def _on_id(given: Condition, needs: list[Need]) -> edge.HasIdCondition:
    assert isinstance(given.has_id, list)
    return engine_value(edge.HasIdCondition, set(given.has_id))


def _is_empty(given: Condition, needs: list[Need]) -> edge.IsEmptyCondition:
    assert isinstance(given.is_empty, KeyOnly)
    needs.append(Need(given.is_empty.key, ANY_INDEX))
    return engine_value(edge.IsEmptyCondition, given.is_empty.key)


def _is_null(given: Condition, needs: list[Need]) -> edge.IsNullCondition:
    assert isinstance(given.is_null, KeyOnly)
    needs.append(Need(given.is_null.key, ANY_INDEX))
    return engine_value(edge.IsNullCondition, given.is_null.key)
