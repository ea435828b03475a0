"""From the settings to the judges: who is asked, and who stands in where nothing may leave the process."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from factsieve.adapters.cascade import CascadeJudge
from factsieve.adapters.rules_judge import RulesJudge
from factsieve.adapters.skip_check import SkipCheck
from factsieve.assembly.settings import Settings
from factsieve.core.errors import BadSettings
from factsieve.core.profile import ThresholdProfile
from factsieve.ports import Judge

if TYPE_CHECKING:
    from factsieve.adapters.kept import Keep
    from factsieve.adapters.nli_judge import NliJudge
    from factsieve.adapters.openai_judge import OpenAIJudge
    from factsieve.ports import Risk

NLI: Final = "nli:"


@dataclass(frozen=True)
class Judges:
    """The judge, the local one that answers where no remote one may be asked, and who of them has something to close."""

    judge: Judge
    local: Judge
    nli: "NliJudge | None" = None
    remote: "OpenAIJudge | None" = None

    async def close(self) -> None:
        """Close connections, and end the threads of local models."""
        if self.remote is not None:
            await self.remote.close()
        if self.nli is not None:
            self.nli.close()


def build_judges(
    settings: Settings,
    *,
    profile: ThresholdProfile | None = None,
    keep: "Keep | None" = None,
    risk: "Risk | None" = None,
    niceness: int = 0,
) -> Judges:
    """Return the configured judges. `profile` brings the NLI model's cut-offs, `keep` a file of its scores, `risk` marks its runs,
    `niceness` is added to that of its threads.

    An NLI model never decides alone: the rules go first, with its opinion as a clue, since a contradiction is no retirement. Skips it
    confirms. Raises BadSettings where a model, a key or a library is missing, or the profile is another model's.
    """
    name = settings.judge.effective_name
    if name == "rules":
        rules = RulesJudge()
        return Judges(rules, rules)
    if name.startswith(NLI):
        nli = _nli(settings, name.removeprefix(NLI), profile, keep=keep, risk=risk, niceness=niceness)
        alone = SkipCheck(CascadeJudge([RulesJudge(nli), nli], name=nli.name), nli)
        return Judges(alone, alone, nli)
    if name == "cascade":
        path = settings.judge.nli_path
        own = None if path is None else str(path)
        scorer = None if own is None else _nli(settings, own, profile, keep=keep, risk=risk, niceness=niceness)
        # the rules' own skips need the model's word; those of a language model, which comes last, do not
        members: list[Judge] = [RulesJudge()] if scorer is None else [SkipCheck(RulesJudge(scorer), scorer), scorer]
        remote = None if settings.judge.model is None else _remote(settings, settings.judge.model)
        cascade = CascadeJudge(members, remote)
        if scorer is None:
            return Judges(cascade, cascade.local, remote=remote)
        local = SkipCheck(cascade.local, scorer, choices=False)
        return Judges(SkipCheck(cascade, scorer, choices=False), local, scorer, remote)
    remote = _remote(settings, name)
    return Judges(remote, RulesJudge(), remote=remote)


def _nli(
    settings: Settings,
    folder: str,
    profile: ThresholdProfile | None,
    *,
    keep: "Keep | None",
    risk: "Risk | None",
    niceness: int,
) -> "NliJudge":
    from factsieve.adapters.nli_judge import NliJudge, NliProfile  # noqa: PLC0415 - needs an extra

    cuts = profile.nli if profile is not None else None
    measured = None if cuts is None else NliProfile(veto=cuts.veto, entailment=cuts.entailment, clear=cuts.clear)
    nli = NliJudge(
        folder,
        profile=measured,
        threads=settings.judge.nli_threads or None,
        keep=keep,
        risk=risk,
        niceness=niceness,
    )
    if profile is not None:
        try:
            profile.check_nli(nli.name, nli.fingerprint)
        except BadSettings:
            nli.close()
            raise
    return nli


def _remote(settings: Settings, name: str) -> "OpenAIJudge":
    from factsieve.adapters.openai_judge import OpenAIJudge  # noqa: PLC0415 - needs an extra

    judge = settings.judge
    return OpenAIJudge(
        name,
        api_key=judge.api_key.get_secret_value() if judge.api_key else None,
        base_url=judge.base_url.get_secret_value() if judge.base_url else None,
        timeout_s=judge.timeout_s,
        retries=judge.retries,
        concurrency=judge.concurrency,
        calls_per_minute=judge.calls_per_minute,
        namespace_calls_per_minute=judge.namespace_calls_per_minute,
        breaker_failures=judge.breaker_failures,
        breaker_pause_s=judge.breaker_pause_s,
    )
