"""Exports: whole, checked before anything is written, and the same after an import."""

import asyncio
import contextlib
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factsieve.core.errors import BadSettings
from factsieve.core.facts import Kind
from factsieve.core.policy import Policy
from factsieve.operations import backup
from factsieve.operations.export_format import Writer
from tests.engine.harness import World, always, by_digest
from tests.operations.recovery_world import differences, empty_stores, entries, points, stores_of

WIDE = Policy(skip_guard="off", skip_threshold=0.995)
AT = {0: 5, 1: 0}


@pytest.fixture(scope="module")
def world() -> World:
    """Facts of two tenants with history, one of them with a vector that came along."""
    world = World(by_digest, policy=WIDE, wave_events=4)
    for namespace in ("team", "house \u0000 é"):
        world.run([world.record(f"the api runs on host {n}", 60 * n, namespace=namespace) for n in range(12)])
    own = list(map(float, 2 * world.embedder.vector("another text altogether")))
    world.judge.script = always(Kind.ADD)
    world.run([world.record("the vault opens at nine", 5, embedding=own, embedding_model="toy")])
    return world


def exported(world: World, path: Path, **more: Any) -> Path:
    with backup.written(path) as stream:
        asyncio.run(backup.export(stores_of(world), Writer(stream), topic="fact-decisions", positions=AT, **more))
    return path


def imported(path: Path, stores: Any, **more: Any) -> Any:
    with backup.opened(path) as found:
        return asyncio.run(backup.import_lines(stores, found.lines(), **more))[1]


@pytest.mark.parametrize("name", ["whole.jsonl", "whole.jsonl.gz"])
@pytest.mark.parametrize("with_vectors", [True, False])
def test_what_is_exported_comes_back(world: World, tmp_path: Path, name: str, with_vectors: bool) -> None:
    """Every field of every row, every vector and every ledger entry; repeated it changes nothing; without vectors only those are embedded
    that the model makes.
    """
    path = exported(world, tmp_path / name, with_vectors=with_vectors)
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]
    stores = empty_stores(world)
    done = imported(path, stores)
    assert differences(points(stores_of(world)), points(stores)) == []
    assert differences(entries(stores_of(world)), entries(stores)) == []
    assert (done.embedded > 0) is not with_vectors
    again = imported(path, stores)
    assert (again.facts, again.decisions, again.embedded) == (0, 0, 0)
    assert differences(points(stores_of(world)), points(stores)) == []


def test_one_namespace_is_exported_or_imported_alone(world: World, tmp_path: Path) -> None:
    """Whether it is chosen at the export or at the import, the stores hold that namespace and nothing else."""
    mine = {key: row for key, row in points(stores_of(world)).items() if row["namespace"] == "team"}
    for at_export in (True, False):
        path = exported(world, tmp_path / f"{at_export}.jsonl", namespace="team" if at_export else None)
        stores = empty_stores(world)
        imported(path, stores, namespace=None if at_export else "team")
        assert differences(mine, points(stores)) == []
        assert {entry.decision.namespace for entry in entries(stores).values()} == {"team"}


def test_an_import_never_takes_a_newer_state_back(world: World, tmp_path: Path) -> None:
    """Over stores that went on since the export, what changed later stays, erased facts stay erased, the rest is as it was."""
    path = exported(world, tmp_path / "old.jsonl")
    later = World(always(Kind.ADD), policy=WIDE)
    stores = empty_stores(world)
    imported(path, stores)
    later.facts, later.ledger, later.clock = stores.facts, stores.ledger, world.clock
    gone = later.current()[0]
    later.run([later.command("erase", {"fact_id": gone.fact_id}), later.record("the lift is out of order", 9000)])
    before = points(stores), entries(stores)
    imported(path, stores)
    assert (points(stores), entries(stores)) == before
    assert gone.text not in json.dumps(
        [row["text"] for row in points(stores).values() if row["fact_id"] == gone.fact_id]
    )


def test_another_embedder_is_refused_unless_vectors_are_made_anew(world: World, tmp_path: Path) -> None:
    """The message names both models; with re-embedding all vectors are the new model's, and none that came along is kept."""
    path = exported(world, tmp_path / "whole.jsonl")
    stores = empty_stores(world)
    stores.embedder.fingerprint = "toy-2"
    with pytest.raises(BadSettings, match=r"toy-1.*toy-2.*--re-embed"):
        imported(path, stores)
    assert asyncio.run(stores.facts.count(None)) == 0
    imported(path, stores, re_embed=True)
    for row in points(stores).values():
        assert row["embedded"] is False
        assert row["vector"] == [round(float(one), 5) + 0.0 for one in stores.embedder.vector(row["text"])]
    assert not [entry for entry in entries(stores).values() if entry.vectors]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_export_is_refused_before_anything_is_written(
    world: World, tmp_path: Path, data: st.DataObject
) -> None:
    """Cut anywhere, a line lost, doubled or exchanged, a byte changed, something behind the end: each is refused, packed or not."""
    whole = exported(world, tmp_path / "whole.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    kind = data.draw(st.sampled_from(["cut", "lost", "doubled", "exchanged", "byte", "behind"]))
    at = data.draw(st.integers(0, len(lines) - 2))
    if kind == "cut":
        broken = whole[: data.draw(st.integers(0, len(whole) - 2))]
    elif kind == "lost":
        broken = b"".join(lines[:at] + lines[at + 1 :])
    elif kind == "doubled":
        broken = b"".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])
    elif kind == "exchanged":
        broken = b"".join([*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]])
    elif kind == "byte":
        place = data.draw(st.integers(0, len(whole) - 2))
        broken = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    else:
        broken = whole + lines[1]
    packed = data.draw(st.booleans())
    path = tmp_path / ("broken.jsonl.gz" if packed else "broken.jsonl")
    path.write_bytes(gzip.compress(broken, 1) if packed else broken)
    if packed and data.draw(st.booleans()):
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadSettings), backup.opened(path):
        pass


def test_a_newer_format_and_other_files_are_refused(world: World, tmp_path: Path) -> None:
    """The message says what it is, or to upgrade."""
    lines = exported(world, tmp_path / "whole.jsonl").read_text().splitlines()
    for change, said in (({"version": 2}, "upgrade"), ({"format": "other"}, "other")):
        path = tmp_path / "changed.jsonl"
        path.write_text("\n".join([json.dumps(json.loads(lines[0]) | change), *lines[1:]]) + "\n")
        with pytest.raises(BadSettings, match=said), backup.opened(path):
            pass
    (tmp_path / "empty").write_bytes(b"")
    for name in ("empty", "nowhere", "."):
        with pytest.raises(BadSettings), backup.opened(tmp_path / name):
            pass
    with pytest.raises(BadSettings, match="can not be written"), backup.written(tmp_path / "no" / "such" / "folder"):
        pass


def test_a_failed_export_leaves_no_file(tmp_path: Path) -> None:
    """A file has its name only when it is whole."""
    (tmp_path / "kept.jsonl").write_text("the last one")
    with contextlib.suppress(RuntimeError), backup.written(tmp_path / "kept.jsonl") as stream:
        stream.write(b"half")
        raise RuntimeError
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("kept.jsonl", "the last one")]


def test_standard_input_and_output(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard output, and standard input."""
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr("sys.stdout", out)
    exported(world, Path("-"))
    whole = out.buffer.getvalue()  # type: ignore[attr-defined]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(whole)))
    stores = empty_stores(world)
    imported(Path("-"), stores)
    assert differences(points(stores_of(world)), points(stores)) == []
