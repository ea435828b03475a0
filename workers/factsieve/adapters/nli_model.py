"""Natural language inference from a local ONNX cross-encoder: whether two texts contradict or imply each other, both ways round.

Quantised models scale their numbers by all that is in one run, so every run holds one pair and nothing else: its two directions. A
pair's scores therefore depend on the pair alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from factsieve.adapters.onnx_session import (
    Session,
    digest,
    find_onnx,
    find_tokenizer,
    open_session,
    open_tokenizer,
    read_object,
    weights_of,
    well_formed,
)
from factsieve.adapters.onnx_shape import fixed_input_length, free_input_lengths
from factsieve.core.errors import BadSettings
from factsieve.core.replace import NliScores

Labels = tuple[str, ...]

CONTRADICTION: Final = "contradiction"
ENTAILMENT: Final = "entailment"

_LONGEST: Final = 512
_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_OPPOSED: Final = (("The door is open.", "The door is closed."), ("Ana is alive.", "Ana is dead."))
_SAME: Final = (("The door is open.", "The door is open."), ("Ana is alive.", "Ana is living."))


class PairScores(msgspec.Struct, frozen=True):
    """A pair's scores, and whether both texts were seen whole."""

    scores: NliScores
    truncated: bool


class NliModel:
    """An NLI cross-encoder from a folder: an ONNX file, `tokenizer.json`, and `config.json` with `id2label`.

    `labels` names the outputs in order where there is no config (`contradiction`, `entailment`, anything else is neutral). Where neither
    tells, the order is found by trying pairs whose relation is plain; where either tells, it is checked by them, because a model read
    the wrong way round would call contradictions repeats. An export that fixed the length of its inputs is freed of it where
    the graph allows, else padded to it.

    Raises BadSettings where files or libraries are missing, or where the model is no NLI model of this kind.
    """

    def __init__(self, folder: str | Path, *, labels: Labels | None = None) -> None:
        place = Path(folder)
        onnx, words = find_onnx(place), find_tokenizer(place)
        self.name = place.resolve().name
        self._tokenizer = open_tokenizer(words)
        self._session, self._length = _open(onnx, self.name)
        self._inputs = {entry.name: tuple(entry.shape) for entry in self._session.get_inputs()}
        if not _INPUTS >= self._inputs.keys() >= {"input_ids"}:
            raise BadSettings(
                f"model {self.name!r} wants the inputs {sorted(self._inputs)}, a cross-encoder takes {sorted(_INPUTS)}"
            )
        self._one_by_one = isinstance(self._inputs["input_ids"][0], int)
        self._limit = self._length or _limit(place, words.parent)
        self._tokenizer.enable_truncation(self._limit)
        self._contradiction, self._entailment = self._order(labels or _labels(place) or _labels(words.parent))
        self.fingerprint = digest(
            [*weights_of(onnx), words], ("nli", 1, self._contradiction, self._entailment, self._limit, self._length)
        )

    @property
    def ways(self) -> int:
        """Return 3 where the model also tells entailment, else 2."""
        return 2 if self._entailment is None else 3

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[PairScores]:
        """Return for each (stored text, candidate text) its scores; one run a pair."""
        return [self._score(stored, candidate) for stored, candidate in pairs]

    def _score(self, stored: str, candidate: str) -> PairScores:
        # the same run whichever way round the pair comes, so that it is one answer
        first, second = sorted((stored, candidate))
        shares, truncated = self._run(first, second)
        ahead, back = (shares[0], shares[1]) if first == stored else (shares[1], shares[0])
        entailment = self._entailment
        return PairScores(
            NliScores(
                forward=float(ahead[self._contradiction]),
                backward=float(back[self._contradiction]),
                entailed=None if entailment is None else float(ahead[entailment]),
                entails=None if entailment is None else float(back[entailment]),
            ),
            truncated,
        )

    def _run(self, first: str, second: str) -> tuple[NDArray[np.float64], bool]:
        """Return the shares of the labels for (first, second) and (second, first), and whether something was cut off."""
        first, second = well_formed(first), well_formed(second)
        encoded = [self._tokenizer.encode(first, second), self._tokenizer.encode(second, first)]
        truncated = any(each.overflowing for each in encoded)
        width = self._length or max(len(each.ids) for each in encoded)
        ids, mask, types = (np.zeros((2, width), np.int64) for _ in range(3))
        for row, each in enumerate(encoded):
            size = len(each.ids)
            ids[row, :size], mask[row, :size], types[row, :size] = each.ids, 1, each.type_ids
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        feed = {name: feed[name] for name in self._inputs}
        if self._one_by_one:
            rows = [
                self._session.run(None, {name: value[row : row + 1] for name, value in feed.items()})[0]
                for row in (0, 1)
            ]
            logits = np.concatenate(rows)
        else:
            logits = self._session.run(None, feed)[0]
        return _softmax(np.asarray(logits, np.float64)), truncated

    def _order(self, labels: Labels | None) -> tuple[int, int | None]:
        """Return which outputs mean contradiction and entailment (None for a 2-way model)."""
        try:
            opposed = np.mean([self._run(*pair)[0].mean(axis=0) for pair in _OPPOSED], axis=0)
            same = np.mean([self._run(*pair)[0].mean(axis=0) for pair in _SAME], axis=0)
        except Exception as error:
            raise BadSettings(f"model {self.name!r} does not work as an NLI cross-encoder: {error}") from error
        if opposed.shape not in ((2,), (3,)):
            raise BadSettings(f"model {self.name!r} has {opposed.shape} outputs a pair: an NLI model has two or three")
        rises = opposed - same
        found = int(np.argmax(rises)), (int(np.argmin(rises)) if len(rises) == 3 else None)
        named = _named(labels, len(rises), self.name)
        if named is None:
            return found
        contradiction, entailment = named
        if rises[contradiction] <= 0 or (entailment is not None and rises[entailment] >= 0):
            raise BadSettings(
                f"model {self.name!r}: its labels {labels} do not fit what it answers (opposed statements {np.round(opposed, 2)}, "
                f"equal ones {np.round(same, 2)}): correct id2label in its config.json"
            )
        return named


def _open(onnx: Path, name: str) -> tuple[Session, int | None]:
    """Return a session, and the length that every input must be padded to (None: any length goes)."""
    described = onnx.read_bytes()
    fixed = fixed_input_length(described)
    if fixed is None:
        return open_session(onnx, 1, name), None
    try:
        freed = open_session(free_input_lengths(described), 1, name)
        for length in (7, fixed // 2):
            row = np.ones((1, length), np.int64)
            freed.run(None, {entry.name: row for entry in freed.get_inputs()})
    except Exception:  # the graph itself holds to its length, in whatever way: then it is given that length
        return open_session(onnx, 1, name), fixed
    return freed, None


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def _named(labels: Labels | None, outputs: int, name: str) -> tuple[int, int | None] | None:
    """Return the outputs that labels name, None where they say nothing (`LABEL_0`)."""
    if labels is None:
        return None
    known = [label.strip().lower().replace("-", "_") for label in labels]
    if len(known) != outputs:
        raise BadSettings(f"model {name!r} has {outputs} outputs but {len(known)} labels: {labels}")
    if all(label.startswith("label_") for label in known):
        return None
    if CONTRADICTION not in known or (outputs == 3 and ENTAILMENT not in known):
        raise BadSettings(
            f"model {name!r} has the labels {labels}: needed are contradiction and another, or contradiction, entailment and neutral"
        )
    return known.index(CONTRADICTION), known.index(ENTAILMENT) if outputs == 3 else None


def _labels(folder: Path) -> Labels | None:
    names = read_object(folder / "config.json").get("id2label")
    if not isinstance(names, dict) or not names:
        return None
    try:
        return tuple(str(names[key]) for key in sorted(names, key=int))
    except ValueError as error:
        raise BadSettings(f"{str(folder / 'config.json')!r}: the keys of id2label must be numbers: {error}") from error


def _limit(folder: Path, words: Path) -> int:
    """Return how many tokens a pair may have."""
    for place, file, field, less in (
        (words, "tokenizer_config.json", "model_max_length", 0),
        (folder, "config.json", "max_position_embeddings", 2),  # models of the RoBERTa kind keep two for padding
    ):
        value = read_object(place / file).get(field)
        if isinstance(value, int) and 8 <= value - less <= 1_000_000:
            return min(_LONGEST, value - less)
    return _LONGEST
