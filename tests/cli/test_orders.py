"""Orders without a stack: keys, and how outcomes read."""

import os
import stat
from pathlib import Path

import pytest

from factsieve.assembly.settings import load_settings
from factsieve.cli.operator_key import KEY_ID, key_overrides, make_key, read_key
from factsieve.cli.orders import show
from factsieve.cli.render import decision_line
from factsieve.core.errors import BadSettings
from factsieve.operations.orders import Order
from factsieve.operations.signing import signing_key, was_refused


def test_a_key_is_made_once(tmp_path: Path) -> None:
    """The folder's key stays the same, is long enough for the settings, and can be read by its owner alone."""
    folder = tmp_path / "state"
    assert read_key(folder) is None
    key = make_key(folder)
    assert make_key(folder) == read_key(folder) == key
    [path] = folder.iterdir()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    settings = load_settings(key_overrides(key), environ={})
    assert signing_key(settings) == (KEY_ID, key.encode())
    assert key_overrides(None) == {}


def test_without_a_key_nothing_is_signed() -> None:
    """The error says how to make one; of several keys one has to be named."""
    with pytest.raises(BadSettings, match=r"openssl rand"):
        signing_key(load_settings({}, environ={}))
    keys = {"commands.keys": {"a": "x" * 32, "b": "y" * 32}}
    with pytest.raises(BadSettings, match=r"commands\.key_id"):
        signing_key(load_settings(keys, environ={}))
    assert signing_key(load_settings({**keys, "commands.key_id": "b"}, environ={})) == ("b", b"y" * 32)


def test_outcomes_read_well(capsys: pytest.CaptureFixture[str]) -> None:
    """What became of a command, and each fact that it changed; a reject says its code; markup in texts is text."""
    fact = {"text": "[bold]8080[/bold]", "status": "current", "fact_id": "f"}
    show({"outcome": "applied", "reason": "why", "changes": [{"type": "reverted", "fact": fact}]}, as_json=False)
    rejected = {"outcome": None, "error": {"code": "command_unauthorised", "message": "no such key"}}
    show(rejected, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["applied why", "  back       [bold]8080[/bold] f", "refused command_unauthorised: no such key"]
    assert [was_refused(one) for one in (rejected, {"outcome": "refused"}, {"outcome": "no_op"})] == [True, True, False]
    line = decision_line(
        {"decision": None, "command": "erase", "outcome": "applied", "reason": "asked", "text": "", "event_id": "c1"}
    )
    assert "erase" in line
    assert "applied: asked" in line


def test_a_reason_is_kept_out_where_none_is_given() -> None:
    """An order without a reason has none in its body."""
    order = Order("retract", "team", {"fact_id": "f"})
    assert order.with_reason(None) == order
    assert order.with_reason("why").body == {"fact_id": "f", "reason": "why"}
