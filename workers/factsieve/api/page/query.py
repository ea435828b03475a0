"""The filter form: from a URL's parameters to a filter, and back to URLs that can be shared."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

import msgspec

from factsieve.api.access import Caller
from factsieve.api.problems import Problem
from factsieve.api.replies import instant
from factsieve.core.decision import Band
from factsieve.core.telling import COMMANDS, KINDS
from factsieve.operations.log import DecisionFilter

PAGE_SIZE: Final = 50
"""So many decisions are on one page."""

HOME: Final = "/activity"
DECISIONS: Final = (*KINDS, *COMMANDS, "refused")
BANDS: Final = tuple(band.value for band in Band)
_MAX_CHARS: Final = 1024
_FIELDS: Final = ("namespace", "decision", "band", "reason", "review", "text", "fact_id", "event_id", "since", "until")


class Asked(msgspec.Struct, frozen=True):
    """What a URL asks for: the form's fields as they were filled in, and the place on which the page begins."""

    fields: Mapping[str, str]
    before: str | None = None

    @property
    def is_narrowed(self) -> bool:
        """Return whether anything in particular is asked for."""
        return bool(self.fields)

    def url(self, path: str = HOME, *, before: str | None = None) -> str:
        """Return the URL that asks for the same, at another path or place."""
        query = dict(self.fields) | ({} if before is None else {"before": before})
        return f"{path}?{urlencode(query)}" if query else path

    def without(self, name: str) -> str:
        """Return the URL that asks for the same but one field."""
        return Asked({field: value for field, value in self.fields.items() if field != name}).url()

    def wanted(self, who: Caller) -> DecisionFilter:
        """Return the filter, within what a caller may see. Raises Problem for what can not be, and for foreign namespaces."""
        fields = self.fields
        return DecisionFilter(
            namespaces=who.within(fields.get("namespace")),
            decision=_one_of(fields, "decision", DECISIONS),
            band=_one_of(fields, "band", BANDS),
            reason=fields.get("reason"),
            review={"yes": True, "no": False, None: None}[_one_of(fields, "review", ("yes", "no"))],
            text=fields.get("text"),
            fact_id=fields.get("fact_id"),
            event_id=fields.get("event_id"),
            since=_time(fields, "since"),
            until=_time(fields, "until"),
        )


def asked(parameters: Mapping[str, str]) -> Asked:
    """Return what a URL's parameters ask for; empty and unknown ones ask for nothing. Raises Problem for one that is too long."""
    fields = {name: parameters[name].strip() for name in _FIELDS if parameters.get(name, "").strip()}
    for name, value in fields.items():
        if len(value) > _MAX_CHARS:
            raise Problem(422, "unusable_input", f"{name} has {len(value)} characters: shorten it to {_MAX_CHARS}")
    before = parameters.get("before", "")
    return Asked(fields, before if re.fullmatch("[0-9a-f-]{36}", before) else None)


def _one_of(fields: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    value = fields.get(name)
    if value is not None and value not in allowed:
        raise Problem(422, "unusable_input", f"{name} {value[:80]!r} is none of {', '.join(allowed)}")
    return value


def _time(fields: Mapping[str, str], name: str) -> datetime | None:
    return instant(fields.get(name), name)
