"""Threshold profiles: what a file must hold, and whom it fits."""

import json

import msgspec
import pytest

from factsieve.core.errors import BadSettings
from factsieve.core.profile import Measured, NliCuts, ThresholdProfile, decode_profile, encode_profile

PROFILE = ThresholdProfile(
    name="support",
    embedder_model="m",
    embedder_fingerprint="0123456789ab",
    skip_threshold=0.9,
    ambiguous_threshold=0.8,
    supersede_threshold=0.7,
    nli=NliCuts(model="nli:x", fingerprint="ba9876543210", veto=0.95),
    measured=Measured(
        rows={"pairs": 10},
        gate="judge",
        picked_by="false-skip",
        asked_for=0.01,
        precision=0.9,
        recall=0.8,
        f1=0.85,
        false_skip_rate=0.005,
    ),
)


def broken(**changes):
    return json.dumps({**json.loads(encode_profile(PROFILE)), **changes}).encode()


def test_a_profile_is_read_as_it_was_written():
    """Encoding and decoding change nothing, with and without the parts that may be missing."""
    assert decode_profile(encode_profile(PROFILE)) == PROFILE
    bare = msgspec.structs.replace(PROFILE, nli=None, measured=None)
    assert decode_profile(encode_profile(bare)) == bare


def test_the_embedder_must_be_the_one_it_was_measured_for():
    """Another fingerprint is refused; the message names both and the command that makes a fitting profile."""
    PROFILE.check_embedder("renamed", "0123456789ab")
    with pytest.raises(BadSettings) as refused:
        PROFILE.check_embedder("other", "ffffffffffff")
    for part in ("0123456789ab", "ffffffffffff", "factsieve calibrate", "policy.profile_path"):
        assert part in str(refused.value)


def test_the_nli_model_must_be_the_one_it_was_measured_for():
    """Its cut-offs fit no other model either; a profile without cut-offs fits any."""
    PROFILE.check_nli("nli:y", "ba9876543210")
    msgspec.structs.replace(PROFILE, nli=None).check_nli("nli:y", "ffffffffffff")
    with pytest.raises(BadSettings, match=r"ba9876543210.*ffffffffffff.*factsieve calibrate"):
        PROFILE.check_nli("nli:y", "ffffffffffff")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "object"),
        (broken(skip_threshold="high"), "skip_threshold"),
        (broken(skip_threshold=0.6), "order"),
        (broken(skip_threshold=1.5), "order"),
        (broken(format=2), "format is 2"),
        (broken(name=""), "names no"),
        (broken(thresholds=1), "thresholds"),
        (broken(nli={"model": "x", "fingerprint": "y", "veto": 1.5}), "nli.veto"),
    ],
)
def test_a_broken_profile_is_refused_by_what_is_wrong(body, named):
    """The message names the field or the fault."""
    with pytest.raises(BadSettings, match=named):
        decode_profile(body)
