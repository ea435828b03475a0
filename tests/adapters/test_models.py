"""Fetching models, from a hub on loopback: pinned, checked, whole or not at all."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tiny_onnx import write_nli

from factsieve.adapters import models
from factsieve.adapters.models import MODELS, PinnedModel, find_model, pull
from factsieve.adapters.nli_model import NliModel
from factsieve.core.errors import BadSettings, Transient

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves files as the hub does: `/{repository}/resolve/{revision}/{file}`, with its ETag and commit headers."""

    def __init__(self, repository, files, *, status=200):
        hub = self
        self.requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self._answer(False)

            def do_GET(self):
                self._answer(True)

            def _answer(self, with_body):
                hub.requests.append((self.command, self.path))
                prefix = f"/{repository}/resolve/{COMMIT}/"
                body = files.get(self.path.removeprefix(prefix)) if self.path.startswith(prefix) else None
                code = status if status != 200 else 200 if body is not None else 404
                self.send_response(code)
                if code == 404:
                    self.send_header(
                        "X-Error-Code", "EntryNotFound" if self.path.startswith(prefix) else "RepoNotFound"
                    )
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("ETag", f'"{hashlib.sha256(body or b"").hexdigest()}"')
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                if with_body and body:
                    self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub-home"))
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")


@pytest.fixture
def served(tmp_path):
    source = write_nli(tmp_path / "source")
    return {
        "onnx/model.onnx": (source / "model.onnx").read_bytes(),
        "tokenizer.json": (source / "tokenizer.json").read_bytes(),
        "config.json": (source / "config.json").read_bytes(),
    }


def pinned(served, **changed):
    files = {
        here: (there, changed.get(here, hashlib.sha256(served[there]).hexdigest()))
        for here, there in (
            ("model.onnx", "onnx/model.onnx"),
            ("tokenizer.json", "tokenizer.json"),
            ("config.json", "config.json"),
        )
    }
    return PinnedModel("org/tiny", COMMIT, "MIT", "tiny", files)


def test_a_pulled_model_works_and_is_not_pulled_again(tmp_path, monkeypatch, served):
    """The files arrive under our names at the pinned revision, the model answers, and a second pull asks nothing of the hub."""
    monkeypatch.setattr(models, "MODELS", {"tiny": pinned(served)})
    with Hub("org/tiny", served) as hub:
        folder = pull("tiny", tmp_path / "models" / "tiny", endpoint=hub.url)
        (result,) = NliModel(folder).score([("the door is open", "the door is closed")])
        assert result.scores.weaker > 0.9
        assert all(COMMIT in path for _, path in hub.requests)
        assert json.loads((folder / models.RECORD).read_text()) == {
            "repository": "org/tiny",
            "revision": COMMIT,
            "licence": "MIT",
        }
        assert sorted(path.name for path in folder.iterdir()) == [
            "config.json",
            models.RECORD,
            "model.onnx",
            "tokenizer.json",
        ]
        before = len(hub.requests)
        assert pull("tiny", folder, endpoint=hub.url) == folder
        assert len(hub.requests) == before


def test_any_repository_at_a_full_commit(tmp_path, served):
    """`organisation/repository@commit` fetches the usual files."""
    with Hub("org/tiny", served) as hub:
        folder = pull(f"org/tiny@{COMMIT}", tmp_path / "tiny", endpoint=hub.url)
    assert NliModel(folder).ways == 3


def test_a_changed_file_is_refused_and_leaves_nothing(tmp_path, monkeypatch, served):
    """A file that is not the pinned one is named with both hashes; no folder is left behind, not even a part of it."""
    monkeypatch.setattr(models, "MODELS", {"tiny": pinned(served, **{"config.json": "0" * 64})})
    with Hub("org/tiny", served) as hub, pytest.raises(BadSettings, match="not the pinned file"):
        pull("tiny", tmp_path / "models" / "tiny", endpoint=hub.url)
    assert list((tmp_path / "models").iterdir()) == []


def test_what_is_not_there_and_who_does_not_answer(tmp_path, monkeypatch, served):
    """A missing file or repository is a wrong setting; a failing or absent hub is an outage."""
    monkeypatch.setattr(models, "MODELS", {"tiny": pinned(served)})
    target = tmp_path / "tiny"
    without = {name: body for name, body in served.items() if name != "tokenizer.json"}
    with Hub("org/tiny", without) as hub, pytest.raises(BadSettings, match=r"no file 'tokenizer\.json'"):
        pull("tiny", target, endpoint=hub.url)
    with Hub("org/other", served) as hub, pytest.raises(BadSettings, match="org/tiny"):
        pull("tiny", target, endpoint=hub.url)
    with Hub("org/tiny", served, status=403) as hub, pytest.raises(Transient, match="model hub"):
        pull("tiny", target, endpoint=hub.url)
    with pytest.raises(Transient, match="model hub"):
        pull("tiny", target, endpoint="http://127.0.0.1:9")
    assert not target.exists()


def test_a_folder_with_other_content_is_left_alone(tmp_path):
    """Nothing is fetched over what somebody else put there."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("keep")
    with pytest.raises(BadSettings, match="something else"):
        pull("nli-minilm2", folder, endpoint="http://127.0.0.1:9")
    assert (folder / "notes.txt").read_text() == "keep"


@pytest.mark.parametrize("name", ["nli-unknown", "org/model", "org/model@main", f"org/model@{COMMIT[:12]}", ""])
def test_names_must_be_known_or_pinned(name):
    """A branch, a short commit or an unknown name is refused with the fix."""
    with pytest.raises(BadSettings, match="commit"):
        find_model(name)


def test_known_models_are_pinned_hashed_and_openly_licensed():
    """Every model that is offered by name has a full commit, a licence that allows use, and a hash for each file that we need."""
    for model in MODELS.values():
        assert len(model.revision) == 40
        assert int(model.revision, 16)
        assert model.licence in {"Apache-2.0", "MIT"}
        assert set(model.files) == {"model.onnx", "tokenizer.json", "config.json"}
        assert all(sha256 is not None and len(sha256) == 64 for _, sha256 in model.files.values())
