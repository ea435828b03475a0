"""The cascade: local judges answer what they are sure of, a language model the rest."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.judging import Question, Verdict
from factsieve.ports import Judge

CUT: Final = 0.75


class CascadeJudge:
    """Judges asked in order (`ports.Judge`): the local ones, then, where none of them is sure, the remote one.

    A local verdict counts when its confidence is at least the cut for its choice (`cuts`, else `cut`) and it asks for no review; one
    that asks for a review ends the local round. Without a remote judge that one, else the first local verdict, stands as it is.
    Skips are confirmed by all local judges that want to, never by the remote one. A verdict names the judge that gave it; `latency_ms`
    and tokens are what the whole question cost.

    Raises BadSettings without local judges, for a remote one among them, and for cuts outside [0, 1].
    """

    def __init__(
        self,
        local: Sequence[Judge],
        remote: Judge | None = None,
        *,
        cut: float = CUT,
        cuts: Mapping[Kind, float] | None = None,
        name: str = "cascade",
    ) -> None:
        if not local:
            raise BadSettings("cascade: at least one local judge is needed")
        for judge in local:
            if judge.is_remote:
                raise BadSettings(f"cascade: {judge.name} is remote and can only be asked last")
        for value in (cut, *(cuts or {}).values()):
            if not 0.0 <= value <= 1.0:
                raise BadSettings(f"cascade: a cut must be within [0, 1], got {value}")
        self._local = tuple(local)
        self._remote = remote
        self._cut = cut
        self._cuts = dict(cuts or {})
        self._name = name

    @property
    def name(self) -> str:
        """Return the cascade's own name; verdicts carry the name of the judge that gave them."""
        return self._name

    @property
    def members(self) -> tuple[str, ...]:
        """Return the names of the judges in the order they are asked."""
        return tuple(judge.name for judge in (*self._local, *([self._remote] if self._remote else ())))

    @property
    def is_remote(self) -> bool:
        """Return whether a remote judge may be asked."""
        return self._remote is not None

    @property
    def confirms_skips(self) -> bool:
        """Return whether a local judge wants to confirm skips."""
        return any(judge.confirms_skips for judge in self._local)

    @property
    def local(self) -> "CascadeJudge":
        """Return the same cascade without the remote judge: for questions that may not leave this process."""
        return CascadeJudge(self._local, cut=self._cut, cuts=self._cuts, name=self._name)

    async def answer(self, question: Question) -> Verdict:
        """Return the verdict of the first judge that is sure, of the remote one, or the first local one's doubt."""
        if question.confirm and self.confirms_skips:
            return await self._confirm(question)
        doubtful: Verdict | None = None
        latency_ms = 0.0
        for judge in self._local:
            verdict = await judge.answer(question)
            latency_ms += verdict.latency_ms
            if self._is_sure(verdict):
                return _cost(verdict, latency_ms)
            if doubtful is None or doubtful.choice is None or verdict.review is not None:
                doubtful = verdict
            if verdict.review is not None:
                break  # one local judge sees a conflict: no other local one may wave it through
        if self._remote is not None and not question.confirm:
            verdict = await self._remote.answer(question)
            return _cost(verdict, latency_ms + verdict.latency_ms)
        assert doubtful is not None  # there is at least one local judge
        return _cost(doubtful, latency_ms)

    def _is_sure(self, verdict: Verdict) -> bool:
        if verdict.choice is None or verdict.review is not None or verdict.confidence is None:
            return False
        return verdict.confidence >= self._cuts.get(verdict.choice, self._cut)

    async def _confirm(self, question: Question) -> Verdict:
        """Return the first verdict that is no skip, or the last one."""
        latency_ms = 0.0
        verdict: Verdict | None = None
        for judge in self._local:
            if judge.confirms_skips:
                verdict = await judge.answer(question)
                latency_ms += verdict.latency_ms
                if verdict.choice is not Kind.SKIP:
                    break
        assert verdict is not None  # `confirms_skips` is why this is called
        return _cost(verdict, latency_ms)


def _cost(verdict: Verdict, latency_ms: float) -> Verdict:
    return msgspec.structs.replace(verdict, latency_ms=round(latency_ms, 3))
