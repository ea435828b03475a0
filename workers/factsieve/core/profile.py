"""A threshold profile: cut-offs measured for one embedder (and one NLI model), with what they were measured on.

A similarity means something only for the model that made the vectors, so a profile names its fingerprint and fits no other.
"""

from typing import Final, Literal

import msgspec

from factsieve.core.errors import BadSettings
from factsieve.core.policy import Policy

FORMAT: Final = 1
HOW_TO_MAKE: Final = "factsieve calibrate --pairs FILE --profile OUT.json"

Pick = Literal["f1", "recall", "false-skip"]
Gate = Literal["number", "guard", "judge"]
"""What stands between a similar pair and a skip: the number alone, the guard besides, the guard and the NLI judge."""


class NliCuts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cut-offs of one NLI model: a contradiction above `veto` refuses a skip, and a 3-way model must see `entailment` both ways.

    Below `clear` in both directions a 3-way model is sure that two statements have nothing to do with each other.
    """

    model: str
    fingerprint: str
    veto: float = 0.92
    entailment: float = 0.5
    clear: float = 0.2


class Measured(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a profile was measured on (rows by file), how it was picked, and what the picked threshold reached there."""

    rows: dict[str, int]
    gate: Gate
    picked_by: Pick
    asked_for: float | None
    precision: float
    recall: float
    f1: float
    false_skip_rate: float


class ThresholdProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Thresholds of one embedder. `format` is the file's, so that an older reader refuses a newer file."""

    format: int = FORMAT
    name: str
    embedder_model: str
    embedder_fingerprint: str
    skip_threshold: float
    ambiguous_threshold: float
    supersede_threshold: float
    nli: NliCuts | None = None
    measured: Measured | None = None

    def __post_init__(self) -> None:
        """Check what a broken file could hold; raises BadSettings naming the value."""
        if self.format != FORMAT:
            raise BadSettings(f"the profile's format is {self.format}, this version reads {FORMAT}: {HOW_TO_MAKE}")
        if not self.name or not self.embedder_fingerprint:
            raise BadSettings("the profile names no profile name or embedder fingerprint: " + HOW_TO_MAKE)
        Policy(
            skip_threshold=self.skip_threshold,
            ambiguous_threshold=self.ambiguous_threshold,
            supersede_threshold=self.supersede_threshold,
            second_look_floor=min(Policy().second_look_floor, self.supersede_threshold),
        )
        if self.nli is not None:
            for field in ("veto", "entailment", "clear"):
                value = getattr(self.nli, field)
                if not 0.0 <= value <= 1.0:
                    raise BadSettings(f"nli.{field} must be within [0, 1], got {value}")

    @property
    def thresholds(self) -> dict[str, object]:
        """Return the settings of `policy` that the profile stands for."""
        return {
            "profile": self.name,
            "skip_threshold": self.skip_threshold,
            "ambiguous_threshold": self.ambiguous_threshold,
            "supersede_threshold": self.supersede_threshold,
        }

    def check_embedder(self, model: str, fingerprint: str) -> None:
        """Raise BadSettings where the embedder in use is not the one that the profile was measured for."""
        if fingerprint != self.embedder_fingerprint:
            raise BadSettings(
                f"threshold profile {self.name!r} was measured for the embedder {self.embedder_model} with fingerprint "
                f"{self.embedder_fingerprint}, the one in use is {model} with fingerprint {fingerprint}: similarities of one model mean "
                f"nothing for another. Make a profile for this one ({HOW_TO_MAKE}), or unset policy.profile_path"
            )

    def check_nli(self, model: str, fingerprint: str) -> None:
        """Raise BadSettings where the NLI model in use is not the one whose cut-offs the profile holds."""
        if self.nli is not None and fingerprint != self.nli.fingerprint:
            raise BadSettings(
                f"threshold profile {self.name!r} was measured for the NLI model {self.nli.model} with fingerprint {self.nli.fingerprint}, "
                f"the one in use is {model} with fingerprint {fingerprint}. Make a profile for this one "
                f"({HOW_TO_MAKE} --judge nli:DIR), or unset policy.profile_path"
            )


def decode_profile(body: bytes) -> ThresholdProfile:
    """Return a profile from the bytes of its file. Raises BadSettings naming the field that does not fit."""
    try:
        return msgspec.json.decode(body, type=ThresholdProfile)
    except msgspec.ValidationError as error:
        raise BadSettings(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"it is not JSON: {error}") from None


def encode_profile(profile: ThresholdProfile) -> bytes:
    """Return the bytes of a profile's file, readable by people."""
    return msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n"
