"""An embedding model of some kilobytes: each word is a direction, a text is the mean of its words'.

Real ONNX, real tokenizer, loaded from a folder as any other model; only small, so that a run of 20,000 events tries the machinery and
not the processor.
"""

import hashlib
import json
from pathlib import Path

import numpy as np

from chaos import stream
from tests.adapters import tiny_onnx as onnx

DIMENSION = 64
LIGHT = frozenset(["the", "is", "of", "on", "in", "by", "to", "and", "where", "now", "because", ",", "."])


def write_model(folder: Path) -> Path:
    """Write the model and return its folder."""
    words = [*onnx.SPECIAL, *stream.words()]
    rows = np.stack([_direction(word) * (0.3 if word in LIGHT or word in onnx.SPECIAL else 1.0) for word in words])
    nodes = [onnx._node("Gather", ["rows", "input_ids"], "hidden", axis=0)]
    graph = b"".join(
        [
            *(onnx._bytes(1, node) for node in nodes),
            onnx._bytes(2, "words"),
            onnx._bytes(5, onnx._tensor("rows", rows.astype(np.float32))),
            onnx._bytes(11, onnx._value("input_ids", 7, ["batch", "sequence"])),
            onnx._bytes(12, onnx._value("hidden", 1, ["batch", "sequence", DIMENSION])),
        ]
    )
    model = onnx._number(1, 8) + onnx._bytes(7, graph) + onnx._bytes(8, onnx._bytes(1, "") + onnx._number(2, 13))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    (folder / "tokenizer.json").write_text(json.dumps(onnx.tokenizer(stream.words())))
    return folder


def _direction(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    drawn = np.random.default_rng(seed).standard_normal(DIMENSION)
    return drawn / np.linalg.norm(drawn)
