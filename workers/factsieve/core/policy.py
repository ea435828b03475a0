"""Thresholds and limits of deciding, per namespace where wanted; their relations are checked when they are made."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from factsieve.core.decision import Band, Thresholds
from factsieve.core.errors import BadSettings

SkipGuard = Literal["ask", "local", "off"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How candidates of one namespace are decided.

    `skip_guard`: `ask` puts a similar candidate that the guard does not clear before the judge, `local` before local judges only,
    `off` trusts the number alone (the plain reference behaviour).
    """

    skip_threshold: float = 0.88
    ambiguous_threshold: float = 0.78
    supersede_threshold: float = 0.72
    dedup_update_threshold: float = 0.85
    supersede_scan_limit: int = 8
    second_look_floor: float = 0.5
    skip_guard: SkipGuard = "ask"
    clock_skew_tolerance_s: float = 60.0
    future_limit_s: float = 3600.0
    merge_text_limit: int = 1000
    profile: str = "default"

    def __post_init__(self) -> None:
        """Check the order of the thresholds; raises BadSettings naming the values."""
        order = (self.supersede_threshold, self.ambiguous_threshold, self.skip_threshold)
        if not -1.0 <= order[0] <= order[1] <= order[2] <= 1.0:
            raise BadSettings(
                f"thresholds must be in order supersede <= ambiguous <= skip within [-1, 1], got supersede {order[0]}, "
                f"ambiguous {order[1]}, skip {order[2]}: raise the later or lower the earlier one"
            )
        if not -1.0 <= self.dedup_update_threshold <= 1.0:
            raise BadSettings(f"dedup_update_threshold must be within [-1, 1], got {self.dedup_update_threshold}")
        if not 1 <= self.supersede_scan_limit <= 64:
            raise BadSettings(f"supersede_scan_limit must be within 1..64, got {self.supersede_scan_limit}")
        if self.second_look_floor > self.supersede_threshold:
            raise BadSettings(
                f"second_look_floor {self.second_look_floor} must not be above supersede_threshold {self.supersede_threshold}"
            )
        if self.clock_skew_tolerance_s < 0 or self.future_limit_s < 0:
            raise BadSettings("clock_skew_tolerance_s and future_limit_s must not be negative")

    @property
    def thresholds(self) -> Thresholds:
        """Return the numbers as decisions carry them."""
        return Thresholds(
            self.skip_threshold, self.ambiguous_threshold, self.supersede_threshold, self.dedup_update_threshold
        )

    @property
    def fingerprint(self) -> str:
        """Return a short hex digest of every field."""
        return _fingerprint(self)

    def band(self, similarity: float | None) -> Band:
        """Return where a best similarity lies; each threshold belongs to the band above it."""
        if similarity is None:
            return Band.NONE
        if similarity >= self.skip_threshold:
            return Band.KNOWN
        if similarity >= self.ambiguous_threshold:
            return Band.AMBIGUOUS
        if similarity >= self.supersede_threshold:
            return Band.SUPERSEDE_ELIGIBLE
        return Band.NEW


@lru_cache(maxsize=1024)
def _fingerprint(policy: Policy) -> str:
    return hashlib.sha256(msgspec.json.encode(policy)).hexdigest()[:12]


class Policies(msgspec.Struct, frozen=True):
    """The default policy and those of namespaces that have their own."""

    default: Policy
    by_namespace: Mapping[str, Policy] = {}

    def of(self, namespace: str) -> Policy:
        """Return the policy that holds in a namespace."""
        return self.by_namespace.get(namespace, self.default)
