"""Inputs: the packaged demonstration, and the long stream of the public data sets."""

import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def demo() -> list[Line]:
    """Return the packaged input: a few hundred statements that lead to every kind of decision, late ones and a tool loop among them."""
    return _named((resources.files("factsieve.cli") / "demo" / "facts.jsonl").read_text(encoding="utf-8"))


def locomo(shared: Path) -> list[Line]:
    """Return 2,541 facts about people, in ten namespaces."""
    return _named((shared / "data" / "streams" / "locomo_observations.jsonl").read_text(encoding="utf-8"))


def naughty(shared: Path) -> list[str]:
    """Return strings that break parsers, those that are no UTF-8 or no statement left out."""
    return [
        text for text in map(_text, json.loads((shared / "data/messy/naughty_strings.base64.json").read_text())) if text
    ]


def normalisation_columns(shared: Path) -> Iterator[tuple[str, str, str]]:
    """Yield source, NFC and NFD of each line of Unicode's normalisation test."""
    import bz2

    with bz2.open(shared / "data" / "messy" / "NormalizationTest.txt.bz2", "rt", encoding="utf-8") as lines:
        for line in lines:
            if line[0] not in "#@":
                source, nfc, nfd, *_ = line.split(";")
                yield _of(source), _of(nfc), _of(nfd)


def _named(text: str) -> list[Line]:
    lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [{"id": f"line-{number}", **line} for number, line in enumerate(lines, start=1)]


def _of(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _text(encoded: str) -> str | None:
    import base64

    try:
        text = base64.b64decode(encoded).decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        return None
    return text if text.strip() else None
