"""Labelled pairs: JSON lines of a stored statement, an incoming one, and what they are to each other."""

import json
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from factsieve.cli.lines import InputRefused, open_input

MAX_PROBLEMS: Final = 20
_TEXTS: Final = ("a", "b")


class Label(StrEnum):
    """What the incoming statement is to the stored one, as its reader saw it."""

    DUPLICATE = "duplicate"
    UPDATE = "update"
    CONTRADICTION = "contradiction"
    DISTINCT = "distinct"


class Pair(msgspec.Struct, frozen=True):
    """One row: `a` is stored, `b` comes in. `data` names its file."""

    data: str
    pair_id: str
    a: str
    b: str
    label: Label
    category: str


def read_pairs(files: Sequence[str]) -> list[Pair]:
    """Return the rows of all files, in order. Raises InputRefused naming every row and field that can not be used, or an empty file."""
    if repeated := [name for name, count in Counter(map(data_name, files)).items() if count > 1]:
        raise InputRefused(
            "unprocessable", f"--pairs {', '.join(sorted(repeated))}: files of the same name can not be told apart"
        )
    pairs: list[Pair] = []
    problems: list[str] = []
    for file in files:
        before = len(pairs) + len(problems)
        with open_input(file) as stream:
            for number, raw in enumerate(stream, start=1):
                if raw.strip():
                    _take(raw, data_name(file), f"{file} line {number}", pairs, problems)
        if len(pairs) + len(problems) == before:
            problems.append(f"{file} has no rows: give one JSON object a line, with id, a, b, relation and category")
    if problems:
        more = f"\n  ... and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        listed = "\n  - ".join(problems[:MAX_PROBLEMS])
        raise InputRefused("unprocessable", f"labelled pairs that can not be used:\n  - {listed}{more}")
    return pairs


def data_name(file: str) -> str:
    """Return what a file's rows are called in tables."""
    return "stdin" if file == "-" else Path(file).stem


def _take(raw: bytes, data: str, where: str, pairs: list[Pair], problems: list[str]) -> None:
    try:
        row = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problems.append(f"{where}: is not JSON ({error})")
        return
    if not isinstance(row, dict):
        problems.append(f"{where}: is not a JSON object but {_shown(row)}")
        return
    before = len(problems)
    problems += [
        f"{where}: {field} is {_shown(row.get(field))}: give the statement's text"
        for field in _TEXTS
        if not isinstance(row.get(field), str) or not row[field].strip()
    ]
    labels = [label.value for label in Label]
    if row.get("relation") not in labels:
        problems.append(f"{where}: relation is {_shown(row.get('relation'))}: give one of {', '.join(labels)}")
    given = row.get("id")
    if not isinstance(given, str | int) or isinstance(given, bool) or given == "":
        problems.append(f"{where}: id is {_shown(given)}: give a string or a number")
    category = row.get("category", "")
    if not isinstance(category, str):
        problems.append(f"{where}: category is {_shown(category)}: give a string, or leave it out")
    if len(problems) == before:
        label = Label(row["relation"])
        pairs.append(Pair(data, str(given), row["a"], row["b"], label, category or label.value))


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
