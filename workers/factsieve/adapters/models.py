"""Fetching NLI models of open licences, each at a pinned revision and checked by its hashes."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx
import msgspec

from factsieve.adapters.onnx_session import require
from factsieve.core.errors import BadSettings, Transient

RECORD: Final = "factsieve-model.json"
"""What was fetched: written beside the model, so that a folder tells where it came from."""

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_SERVICE: Final = "model hub"


class PinnedModel(msgspec.Struct, frozen=True):
    """A model on the hub: repository, revision (a full commit), licence, and files as `wanted name here -> (name there, SHA-256)`."""

    repository: str
    revision: str
    licence: str
    about: str
    files: Mapping[str, tuple[str, str | None]]


MODELS: Final[Mapping[str, PinnedModel]] = {
    "nli-minilm2": PinnedModel(
        repository="cross-encoder/nli-MiniLM2-L6-H768",
        revision="b95119ce93d3e065de6214e38cd4a97b0f2f2c6d",
        licence="Apache-2.0",
        about="English, 3-way, 6 layers, 8 bit: the quickest",
        files={
            "model.onnx": (
                "onnx/model_quint8_avx2.onnx",
                "44391a5241a62e0083c1a8899a71e69a092b95aea5ba89e14062925468eceac7",
            ),
            "tokenizer.json": ("tokenizer.json", "82139106e603ee4e1d5bc99d056ccbed5a92bc24848b1b5a7137c26e00d0dbf6"),
            "config.json": ("config.json", "8b0e41caff7567c0f53e6983f35591c3dec59507c9173ab125c5823394fb57f3"),
        },
    ),
    "nli-mdeberta": PinnedModel(
        repository="MoritzLaurer/mDeBERTa-v3-base-mnli-xnli",
        revision="8adb042d524ecd5c26d3e3ba0e3fbcf7e2d0864c",
        licence="MIT",
        about="a hundred languages, 3-way, 12 layers, 8 bit: slower",
        files={
            "model.onnx": (
                "onnx/model_quantized.onnx",
                "27c39e884c14b03cf46cfc5485971b6db70ff330220d93dfe729c63fde43af0e",
            ),
            "tokenizer.json": ("tokenizer.json", "3aca3ce69a0a35aeb144a52c4f1d41c4246b8785f8f398315cc8fb6b24057810"),
            "config.json": ("config.json", "4e4430c95100d613df80fa01276f231931e1b535557cf62fbb3cc50323e50cca"),
        },
    ),
}
"""The models known by name."""


def find_model(name: str) -> PinnedModel:
    """Return the model of a name, or of `organisation/repository@commit` (its files: onnx/model.onnx and the tokenizer's).

    Raises BadSettings for an unknown name, and for a repository without a full commit.
    """
    known = MODELS.get(name)
    if known is not None:
        return known
    repository, mark, revision = name.partition("@")
    if "/" not in repository:
        raise BadSettings(f"model {name!r} is not known: {', '.join(MODELS)}, or organisation/repository@commit")
    if not mark or not _COMMIT.fullmatch(revision):
        raise BadSettings(f"model {name!r} must be pinned to a full commit: {repository}@ and 40 hexadecimal digits")
    files: dict[str, tuple[str, str | None]] = {
        "model.onnx": ("onnx/model.onnx", None),
        "tokenizer.json": ("tokenizer.json", None),
        "config.json": ("config.json", None),
    }
    return PinnedModel(repository, revision, "see its page", "given by repository", files)


def pull(name: str, folder: str | Path, *, endpoint: str | None = None) -> Path:
    """Fetch a model into `folder` and return it; a folder that holds this model already is left alone.

    `endpoint` takes the place of the hub's address (else its own variable HF_ENDPOINT does). The folder appears whole or not at all.
    Raises BadSettings for a name that is not known, a folder that holds something else, a repository or file that is not there, and
    a file that is not the pinned one; Transient where the hub does not answer.
    """
    model = find_model(name)
    place = Path(folder)
    record = {"repository": model.repository, "revision": model.revision, "licence": model.licence}
    if place.exists():
        if _record_of(place) == record:
            return place
        if not place.is_dir() or any(place.iterdir()):
            raise BadSettings(f"folder {str(place)!r} holds something else: give another one, or remove it")
    partial = place.parent / f".{place.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        for here, (there, sha256) in model.files.items():
            fetched = _fetch(model, there, partial / "fetched", endpoint)
            _check(fetched, there, sha256)
            shutil.move(fetched, partial / here)
        shutil.rmtree(partial / "fetched", ignore_errors=True)
        (partial / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        if place.exists():
            place.rmdir()
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place


def _fetch(model: PinnedModel, file: str, into: Path, endpoint: str | None) -> Path:
    hub = require("huggingface_hub", "nli")
    errors = require("huggingface_hub.errors", "nli")
    try:
        path: str = hub.hf_hub_download(
            model.repository, file, revision=model.revision, local_dir=str(into), endpoint=endpoint
        )
    except errors.LocalEntryNotFoundError as error:  # how the client says that the hub is out of reach
        raise Transient(_SERVICE, f"{model.repository} can not be fetched: {error}") from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise BadSettings(f"{model.repository}@{model.revision} has no file {file!r} to fetch: {error}") from error
    except (OSError, httpx.HTTPError, RuntimeError) as error:  # the last one is what its closed connections raise
        raise Transient(_SERVICE, f"{model.repository}/{file}: {error}") from error
    return Path(path)


def _check(path: Path, name: str, sha256: str | None) -> None:
    if sha256 is None:
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise BadSettings(f"{name!r} is not the pinned file: its SHA-256 is {found}, expected {sha256}")


def _record_of(folder: Path) -> object:
    try:
        return json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
