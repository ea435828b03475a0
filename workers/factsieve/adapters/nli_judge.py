"""The judge that is an NLI model: it confirms or refuses skips, and scores pairs for whoever decides.

A score is a clue, not a decision: on pairs that look alike such models call most statements that can both stand a contradiction. So this
judge never retires; what it takes for a contradiction is added and marked for a look.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from factsieve.adapters.kept import Keep, keeping_scores
from factsieve.adapters.model_lanes import ModelLanes
from factsieve.adapters.nli_model import Labels, NliModel, PairScores
from factsieve.adapters.onnx_session import available_cores
from factsieve.core.alike import counted
from factsieve.core.errors import BadSettings, FactsieveError
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.core.replace import NliScores
from factsieve.ports import Risk

REVIEW: Final = "conflict"
DOUBT: Final = 0.3
"""The confidence of an `add` beside a fact that seems to contradict it."""
UNINFORMED: Final = 0.5
"""The most that a 2-way model's `add` is worth: no contradiction may as well be a repeat."""

PROFILE_FILE: Final = "nli_profile.json"

Pair = tuple[str, str]


class NliProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cut-offs that were measured for one model.

    `fingerprint` is the model's (None: for any). A skip is refused where either direction's contradiction, as it counts
    (`core.alike.counted`), is above `veto`; with a 3-way model it also needs `entailment` in both directions. Below `clear` in both
    directions a 3-way model's `add` is sure.
    """

    fingerprint: str | None = None
    veto: float = 0.92
    entailment: float = 0.5
    clear: float = 0.2

    def __post_init__(self) -> None:
        """Check the ranges; raises BadSettings naming the value."""
        for name in ("veto", "entailment", "clear"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise BadSettings(f"NLI profile: {name} must be within [0, 1], got {value}")
        if self.clear > self.veto:
            raise BadSettings(f"NLI profile: clear {self.clear} must not be above veto {self.veto}")


def load_profile(path: str | Path, fingerprint: str) -> NliProfile:
    """Return the profile in a JSON file; raises BadSettings where it is missing, broken, or of another model."""
    file = Path(path)
    try:
        profile = msgspec.json.decode(file.read_bytes(), type=NliProfile)
    except OSError as error:
        raise BadSettings(f"NLI profile {str(file)!r} can not be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadSettings(f"NLI profile {str(file)!r} is not usable: {error}") from error
    if profile.fingerprint is not None and profile.fingerprint != fingerprint:
        raise BadSettings(
            f"NLI profile {str(file)!r} was measured for the model {profile.fingerprint}, this one is {fingerprint}: calibrate again"
        )
    return profile


class NliJudge:
    """A judge by NLI (`ports.Judge`), and a scorer of pairs.

    `folder` is the model's (see `NliModel`), `profile` its cut-offs, or a JSON file of them (None: careful defaults). `threads` pairs are
    computed at once (None: one per core), `cache_size` pairs are remembered, `keep` is a file that keeps scores between runs, `risk` marks
    candidates while the model runs on them, `niceness` is as in `ModelLanes`. Raises BadSettings as `NliModel` and `load_profile` do.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        profile: NliProfile | str | Path | None = None,
        labels: Labels | None = None,
        threads: int | None = None,
        cache_size: int = 65_536,
        keep: Keep | None = None,
        risk: Risk | None = None,
        niceness: int = 0,
    ) -> None:
        if cache_size < 0 or (threads is not None and threads < 1):
            raise BadSettings(
                f"NLI judge: threads ({threads}) must be at least 1, cache_size ({cache_size}) at least 0"
            )
        self._model = NliModel(folder, labels=labels)
        beside = Path(folder) / PROFILE_FILE
        if profile is None and beside.is_file():
            profile = beside
        if isinstance(profile, str | Path):
            profile = load_profile(profile, self._model.fingerprint)
        elif profile is not None and profile.fingerprint not in (None, self._model.fingerprint):
            raise BadSettings(
                f"NLI profile of the model {profile.fingerprint} does not fit model {self._model.fingerprint}"
            )
        self._profile = profile or NliProfile()
        self._risk = risk
        score = self._model.score
        self._lanes: ModelLanes[Pair, PairScores] = ModelLanes(
            score if keep is None else keeping_scores(keep, self._model.fingerprint, score),
            name=self.name,
            lanes=threads or available_cores(),
            batch_size=1,
            cache_size=cache_size,
            size_of=lambda pair: len(pair[0]) + len(pair[1]),
            niceness=niceness,
        )

    @property
    def name(self) -> str:
        """Return `nli:` and the folder's name."""
        return f"nli:{self._model.name}"

    @property
    def fingerprint(self) -> str:
        """Return 12 hex digits over the model, its tokenizer and its label order."""
        return self._model.fingerprint

    @property
    def profile(self) -> NliProfile:
        """Return the cut-offs in use."""
        return self._profile

    @property
    def ways(self) -> int:
        """Return 3 where the model also tells entailment, else 2."""
        return self._model.ways

    @property
    def is_remote(self) -> bool:
        """Return False: it answers in milliseconds."""
        return False

    @property
    def confirms_skips(self) -> bool:
        """Return True: a contradiction is what it knows best."""
        return True

    async def score_pairs(self, pairs: Sequence[Pair]) -> list[NliScores]:
        """Return for each (stored text, candidate text), in order, the scores of both directions."""
        return [result.scores for result in await self._results(pairs)]

    async def answer(self, question: Question) -> Verdict:
        """Return the verdict; a model that fails gives none (`choice` None)."""
        started = time.perf_counter()
        try:
            results = await self._results([(near.text, question.text) for near in question.neighbours])
        except FactsieveError as error:
            verdict = Verdict(choice=None, judge=self.name, failure=str(error))
        else:
            verdict = self._confirm(question, results) if question.confirm else self._choose(question, results)
        elapsed_ms = (time.perf_counter() - started) * 1000
        return msgspec.structs.replace(verdict, model=self.fingerprint, latency_ms=round(elapsed_ms, 3))

    def close(self) -> None:
        """Finish what is under way and end the threads."""
        self._lanes.close()

    async def probe(self, number: int) -> None:
        """Run the model on a pair that it is known to manage, another one for each number. Raises whatever goes wrong."""
        await self._lanes.results([("The known-good door is open.", f"The known-good door number {number} is open.")])

    async def _results(self, pairs: Sequence[Pair]) -> list[PairScores]:
        # one computation serves a pair and the same pair the other way round
        ordered = [(pair if pair[0] <= pair[1] else (pair[1], pair[0])) for pair in pairs]
        if self._risk is None:
            found = await self._lanes.results(ordered)
        else:
            async with self._risk.running(*dict.fromkeys(candidate for _stored, candidate in pairs)):
                found = await self._lanes.results(ordered)
        return [
            result if pair == key else PairScores(_swapped(result.scores), result.truncated)
            for pair, key, result in zip(pairs, ordered, found, strict=True)
        ]

    def _confirm(self, question: Question, results: Sequence[PairScores]) -> Verdict:
        """Return `skip` where nothing speaks against it, else `add` and why."""
        texts = [near.text for near in question.neighbours]
        worst = max(
            counted(result.scores.stronger, text, question.text) for text, result in zip(texts, results, strict=True)
        )
        if any(result.truncated for result in results):
            return self._add("the texts are longer than the model's window", 1.0)
        if worst > self._profile.veto:
            return self._add(f"contradiction {worst:.2f}", worst)
        lacking = min(_mutual(result.scores) for result in results)
        if lacking < self._profile.entailment:
            return self._add(f"entailment only {lacking:.2f}", 1.0 - lacking)
        return Verdict(
            choice=Kind.SKIP,
            judge=self.name,
            targets=(0,),
            reason=f"contradiction at most {worst:.2f}",
            confidence=1.0 - worst,
        )

    def _choose(self, question: Question, results: Sequence[PairScores]) -> Verdict:
        scores = [result.scores for result in results]
        against = tuple(i for i, each in enumerate(scores) if each.stronger > self._profile.veto)
        if against:
            worst = max(scores[i].stronger for i in against)
            return self._add(f"contradiction {worst:.2f}", DOUBT, review=REVIEW, conflicts=against)
        if self.ways == 2 or any(result.truncated for result in results):
            sureness = min(UNINFORMED, 1.0 - max(each.stronger for each in scores))
            return self._add("no contradiction; more this model can not tell", sureness)
        return self._choose_by_entailment(question, scores)

    def _choose_by_entailment(self, question: Question, scores: Sequence[NliScores]) -> Verdict:
        cut = self._profile.entailment
        same = [i for i, each in enumerate(scores) if _mutual(each) >= cut]
        if same and Kind.SKIP in question.allowed:
            best = max(same, key=lambda i: _mutual(scores[i]))
            return self._verdict(Kind.SKIP, best, "each implies the other", _mutual(scores[best]))
        refined = [i for i, each in enumerate(scores) if (each.entails or 0.0) >= cut > (each.entailed or 0.0)]
        if len(refined) == 1 and Kind.UPDATE in question.allowed:
            only = refined[0]
            return self._verdict(
                Kind.UPDATE, only, "implies the stored fact and says more", scores[only].entails or 0.0
            )
        nearest = max(max(each.entailed or 0.0, each.entails or 0.0, each.stronger) for each in scores)
        return self._add(
            "neither implied nor contradicted", 1.0 - nearest if nearest <= self._profile.clear else UNINFORMED
        )

    def _verdict(self, choice: Kind, target: int, reason: str, confidence: float) -> Verdict:
        return Verdict(choice=choice, judge=self.name, targets=(target,), reason=reason, confidence=confidence)

    def _add(
        self, reason: str, confidence: float, *, review: str | None = None, conflicts: tuple[int, ...] = ()
    ) -> Verdict:
        return Verdict(
            choice=Kind.ADD,
            judge=self.name,
            reason=reason,
            confidence=confidence,
            review=review,
            conflicts=conflicts,
        )


def _mutual(scores: NliScores) -> float:
    """Return the weaker entailment of both directions; 1.0 for a model that tells none."""
    if scores.entailed is None or scores.entails is None:
        return 1.0
    return min(scores.entailed, scores.entails)


def _swapped(scores: NliScores) -> NliScores:
    return NliScores(scores.backward, scores.forward, scores.entails, scores.entailed)
