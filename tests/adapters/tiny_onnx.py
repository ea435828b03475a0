"""A real ONNX cross-encoder of a few hundred bytes, whose answers follow from its words: for tests of what surrounds a model.

Each token adds a row of three numbers (contradiction, entailment, neutral) that depends on whether it stands in the premise or in the
hypothesis; the logits are the sums. The file is written field by field after onnx.proto, so no ONNX library is needed.
"""

import json
from pathlib import Path

import numpy as np

PAD, UNK, CLS, SEP = 0, 1, 2, 3
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def _varint(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _tensor(name: str, array: np.ndarray) -> bytes:
    kind = {"float32": 1, "int64": 7}[array.dtype.name]
    dims = b"".join(_number(1, size) for size in array.shape)
    return dims + _number(2, kind) + _bytes(8, name) + _bytes(9, array.tobytes())


def _value(name: str, kind: int, dims: list[int | str]) -> bytes:
    shape = b"".join(_bytes(1, _number(1, dim) if isinstance(dim, int) else _bytes(2, dim)) for dim in dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _node(kind: str, inputs: list[str], output: str, **attributes: int) -> bytes:
    parts = [_bytes(1, name) for name in inputs] + [_bytes(2, output), _bytes(4, kind)]
    parts += [_bytes(5, _bytes(1, name) + _number(3, value) + _number(20, 2)) for name, value in attributes.items()]
    return b"".join(parts)


def cross_encoder(
    rows: np.ndarray, *, length: int | str = "sequence", batch: int | str = "batch", rigid: bool = False
) -> bytes:
    """Return a model over `rows`, shape (2 x vocabulary, labels): row 2 x id for the premise, 2 x id + 1 for the hypothesis.

    `length` may be fixed, as an export does; with `rigid` the graph itself works at that length only.
    """
    nodes = [
        _node("Mul", ["input_ids", "two"], "doubled"),
        _node("Add", ["doubled", "token_type_ids"], "places"),
        _node("Gather", ["rows", "places"], "terms", axis=0),
    ]
    terms = "terms"
    tensors = [
        _tensor("two", np.array([2], np.int64)),
        _tensor("rows", rows.astype(np.float32)),
        _tensor("axis", np.array([1], np.int64)),
    ]
    if rigid:
        assert isinstance(length, int)
        tensors.append(_tensor("shape", np.array([-1, length, rows.shape[1]], np.int64)))
        nodes.append(_node("Reshape", ["terms", "shape"], "fixed"))
        terms = "fixed"
    nodes.append(_node("ReduceSum", [terms, "axis"], "logits", keepdims=0))
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _bytes(2, "tiny"),
            *(_bytes(5, tensor) for tensor in tensors),
            _bytes(11, _value("input_ids", 7, [batch, length])),
            _bytes(11, _value("token_type_ids", 7, [batch, length])),
            _bytes(12, _value("logits", 1, [batch, rows.shape[1]])),
            _bytes(13, _value("places", 7, [batch, length])),
        ]
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 13))


def tokenizer(words: list[str]) -> dict:
    """Return a word tokenizer in the fast format, with the pair template of BERT."""
    vocab = {word: index for index, word in enumerate([*SPECIAL, *words])}
    special = {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}

    def piece(name: str, side: int) -> dict:
        return {"SpecialToken": {"id": name, "type_id": side}}

    a, b = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": {"strategy": {"Fixed": 16}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [piece("[CLS]", 0), a, piece("[SEP]", 0)],
            "pair": [piece("[CLS]", 0), a, piece("[SEP]", 0), b, piece("[SEP]", 1)],
            "special_tokens": special,
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    }  # fmt: skip


def write_nli(
    folder: Path,
    *,
    order: tuple[str, ...] = ("entailment", "neutral", "contradiction"),
    config: bool = True,
    names: tuple[str, ...] | None = None,
    **shape,
) -> Path:
    """Write an NLI model in which `closed`, `dead` and `not` contradict, and `extra` in the hypothesis is not implied."""
    words = ["the", "door", "is", "open", "closed", "ana", "alive", "dead", "living", "not", "extra"]
    columns = {"contradiction": 0, "entailment": 1, "neutral": 2}
    rows = np.zeros((2 * (len(SPECIAL) + len(words)), 3), np.float32)
    rows[2 * CLS, 1] = 3.0  # implied, as long as nothing speaks against it
    for word in ("closed", "dead", "not"):
        index = len(SPECIAL) + words.index(word)
        rows[[2 * index, 2 * index + 1], 0] = 8.0
    rows[2 * (len(SPECIAL) + words.index("extra")) + 1, 2] = 8.0
    rows = rows[:, [columns.get(label, 2) for label in order]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(cross_encoder(rows, **shape))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(words)))
    if config:
        labels = {str(index): name for index, name in enumerate(names or order)}
        (folder / "config.json").write_text(json.dumps({"id2label": labels, "max_position_embeddings": 66}))
    return folder
