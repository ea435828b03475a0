"""Loading ONNX models and their tokenizers: what the embedder and the NLI judge share."""

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from factsieve.core.errors import BadSettings


class Port(Protocol):
    """One input or output of a graph."""

    name: str
    shape: Sequence[int | str | None]


class Session(Protocol):
    """What is used of `onnxruntime.InferenceSession`."""

    def get_inputs(self) -> Sequence[Port]:
        """Return the graph's inputs."""
        ...

    def get_outputs(self) -> Sequence[Port]:
        """Return the graph's outputs."""
        ...

    def run(self, outputs: Sequence[str] | None, feed: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """Run the graph."""
        ...


class Encoding(Protocol):
    """What is used of `tokenizers.Encoding`."""

    ids: list[int]
    type_ids: list[int]
    special_tokens_mask: list[int]
    overflowing: "list[Encoding]"


class Tokenizer(Protocol):
    """What is used of `tokenizers.Tokenizer`."""

    def encode(self, sequence: str, pair: str | None = None) -> Encoding:
        """Return the tokens of a text, or of a pair of texts."""
        ...

    def enable_truncation(self, max_length: int, *, strategy: str = "longest_first") -> None:
        """Cut what is longer."""
        ...


def require(module: str, extra: str) -> ModuleType:
    """Import an optional library; raises BadSettings that names the extra to install where it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise BadSettings(f"this needs the library {module!r}: pip install 'factsieve[{extra}]'") from error


def package_folder(package: str) -> Path | None:
    """Return where a package is installed without importing it, or None."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def find_onnx(folder: Path) -> Path:
    """Return a folder's model: `model.onnx`, `onnx/model.onnx`, or else its only `*.onnx` file.

    Raises BadSettings where the folder is missing, holds no model, or several to choose from.
    """
    if not folder.is_dir():
        raise BadSettings(
            f"model folder {str(folder)!r} does not exist: give a folder with an ONNX file and a tokenizer.json"
        )
    for preferred in (folder / "model.onnx", folder / "onnx" / "model.onnx"):
        if preferred.is_file():
            return preferred
    found = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise BadSettings(
            f"model folder {str(folder)!r} must hold model.onnx or exactly one *.onnx file, found: {names}"
        )
    return found[0]


def find_tokenizer(folder: Path) -> Path:
    """Return a folder's tokenizer.json, its own or that of its only subfolder with one; raises BadSettings where there is none."""
    own = folder / "tokenizer.json"
    if own.is_file():
        return own
    found = sorted(folder.glob("*/tokenizer.json"))
    if len(found) != 1:
        raise BadSettings(
            f"model folder {str(folder)!r} holds no tokenizer.json (a tokenizer in Hugging Face's fast format)"
        )
    return found[0]


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file: empty where there is no file, or no object in it. Raises BadSettings where it is not JSON."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadSettings(f"{str(path)!r} is not JSON: {error}") from error
    return value if isinstance(value, dict) else {}


def open_session(model: Path | bytes, threads: int, name: str) -> Session:
    """Return an inference session on CPU whose threads never spin: other processes share the cores.

    With `threads` 1 the session owns no thread at all, the caller's does the work, and several callers may run at once.
    Memory patterns are off because they are kept per input shape, and texts have many. Raises BadSettings for a broken model.
    """
    ort = require("onnxruntime", "local")
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    source = str(model) if isinstance(model, Path) else model
    try:
        session: Session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own classes, which share no base but Exception
        raise BadSettings(f"model {name!r} can not be loaded: {error}") from error
    return session


def open_tokenizer(path: Path) -> Tokenizer:
    """Return a tokenizer without the padding and truncation that its file may ask for; raises BadSettings if it is broken."""
    tokenizers = require("tokenizers", "local")
    try:
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise BadSettings(f"tokenizer {str(path)!r} can not be loaded: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    fast: Tokenizer = tokenizer
    return fast


def available_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def well_formed(text: str) -> str:
    """Return the text with lone surrogates replaced, which no tokenizer and no UTF-8 encoder takes."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-8", "replace").decode("utf-8")


def digest(files: Sequence[Path], parameters: Iterable[object]) -> str:
    """Return 12 hex digits over the contents of files and over parameters."""
    total = hashlib.sha256()
    for path in files:
        stat = path.stat()
        total.update(bytes.fromhex(_file_digest(str(path), stat.st_size, stat.st_mtime_ns)))
    total.update(repr(tuple(parameters)).encode())
    return total.hexdigest()[:12]


def weights_of(model: Path) -> list[Path]:
    """Return the files that a model is made of: the graph, and weights kept beside it."""
    return [model, *sorted({*model.parent.glob(model.name + "[._]data*"), *model.parent.glob(model.stem + ".data")})]


@lru_cache(maxsize=64)
def _file_digest(path: str, size: int, mtime_ns: int) -> str:  # size and mtime are part of the cache's key
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
