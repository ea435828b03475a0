"""The log: one line per event, secrets and texts never in it."""

import io
import json
import logging
import subprocess
import sys

import pytest
import structlog

from factsieve.telemetry.log import configure, mask


@pytest.fixture
def stream():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_one_json_object_a_line(stream):
    """An entry holds its event, level, logger, UTC time and fields, on one line, in any script."""
    configure(stream=stream)
    structlog.contextvars.bind_contextvars(partition=3)
    structlog.get_logger("x").info("worker_started", topic="größe\n日本")
    (entry,) = lines(stream)
    assert (entry["event"], entry["level"], entry["logger"], entry["partition"]) == ("worker_started", "info", "x", 3)
    assert entry["topic"] == "größe\n日本"
    assert entry["timestamp"].endswith("Z")


def test_the_standard_library_goes_the_same_way(stream):
    """Entries of libraries have the same shape; below a warning they are left out."""
    configure(stream=stream)
    logging.getLogger("aiokafka.consumer").info("joined")
    logging.getLogger("aiokafka.consumer").warning("lost %s", "redis://u:pw@h")
    (entry,) = lines(stream)
    assert (entry["event"], entry["level"]) == ("lost redis://u:***@h", "warning")


def test_levels(stream):
    """Entries below the level are not written."""
    configure(level="warning", stream=stream)
    structlog.get_logger("x").info("quiet_kept")
    structlog.get_logger("x").error("worker_failed")
    assert [entry["event"] for entry in lines(stream)] == ["worker_failed"]


@pytest.mark.parametrize("format_", ["json", "console"])
def test_secrets_never_show(stream, format_):
    """Neither fields by name, nor URLs with passwords, nor headers, nor the text of an error reach the log."""
    configure(format=format_, stream=stream)
    log = structlog.get_logger("x")
    log.info(
        "client_connected",
        api_key="hidden1",
        sasl_password="hidden2",
        nested={"token": "hidden3", "list": [{"secret": "hidden4"}]},
        url="redis://user:hidden5@host:6379/0",
        header="Bearer hidden6",
        error=ValueError("http://u:hidden7@h"),
        text="hidden8 is a fact",
    )
    try:
        raise RuntimeError("amqp://u:hidden9@h")
    except RuntimeError:
        log.exception("worker_failed")
    written = stream.getvalue()
    assert "hidden" not in written
    assert "redis://user:***@host:6379/0" in written
    assert "(17 characters)" in written
    assert "RuntimeError" in written


def test_masking_leaves_the_rest_alone():
    """Numbers, names and counts of tokens stay as they are; deep values end somewhere."""
    event = {"prompt_tokens": 5, "tokens": 3, "key_id": "ops", "ids": ("a", "b"), "none": None, "flag": True}
    assert mask(None, "", event) == {**event, "ids": ["a", "b"]}
    deep = {}
    deep["again"] = deep
    assert "again" in mask(None, "", {"deep": deep})["deep"]


def test_import_changes_nothing():
    """Importing the module configures neither structlog nor the standard library's logging."""
    code = (
        "import logging, structlog; before = structlog.get_config(); import factsieve.telemetry.log;"
        "assert not structlog.is_configured() and not logging.getLogger().handlers"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
