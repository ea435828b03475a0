"""Writes `docs/settings.md` from the settings: `python -m factsieve.assembly.settings_docs > docs/settings.md`."""

import sys
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from factsieve.assembly.settings import ALIASES, CONFIG_VARIABLE, setting_names, variable_of
from factsieve.assembly.settings_downstream import DownstreamCollection
from factsieve.assembly.settings_groups import NamespacePolicy

_HEAD = f"""# Settings

Made by `python -m factsieve.assembly.settings_docs`; do not edit.

A setting is read from, each over the one before: its default, the file `factsieve.toml` (or the one that `{CONFIG_VARIABLE}` names), its
environment variable, the command line (`--set name=value`). Empty variables count as absent; lists and tables are JSON in a variable.
Unknown names are refused with the nearest known one, and settings that do not fit together with the reason. `factsieve config check`
checks all of it, `factsieve config show` prints what is in use, with secrets masked.

```toml
[kafka]
bootstrap = "kafka-1:9092,kafka-2:9092"

[policy.namespaces.team-a]
skip_threshold = 0.9
```
"""


def render() -> str:
    """Return the whole page."""
    return "\n".join([_HEAD, *_sections(), *_namespaces(), *_downstream(), *_aliases()]).rstrip() + "\n"


def _sections() -> Iterator[str]:
    groups: dict[str, list[tuple[str, type[BaseModel], FieldInfo]]] = {}
    for name, model, field in setting_names():
        groups.setdefault(name.rpartition(".")[0], []).append((name, model, model.model_fields[field]))
    for group, rows in groups.items():
        yield f"## {group or 'General'}\n"
        if group:
            yield f"{_first_sentence(rows[0][1])}\n"
        yield "| setting | default | meaning |"
        yield "| --- | --- | --- |"
        for name, _, info in rows:
            yield f"| `{name}`<br>`{variable_of(name)}` | {_default(info)} | {_meaning(info)} |"
        yield ""


def _namespaces() -> Iterator[str]:
    yield "## One namespace's own policy\n"
    yield "A table `policy.namespaces.NAME` may hold any of these; what it leaves out is as in `policy`.\n"
    yield ", ".join(f"`{field}`" for field in NamespacePolicy.model_fields) + ".\n"


def _downstream() -> Iterator[str]:
    yield "## One downstream collection\n"
    yield "A table `downstream.collections.NAME` holds:\n"
    yield "| field | default | meaning |"
    yield "| --- | --- | --- |"
    for field, info in DownstreamCollection.model_fields.items():
        yield f"| `{field}` | {'required' if info.is_required() else _default(info)} | {_meaning(info)} |"
    yield ""


def _aliases() -> Iterator[str]:
    yield "## Other names\n"
    yield "Accepted wherever ours are; giving both with different values is refused.\n"
    yield "| name | stands for |"
    yield "| --- | --- |"
    for alias, name in ALIASES.items():
        yield f"| `{alias}`<br>`{variable_of(alias)}` | `{name}` |"


def _first_sentence(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def _default(info: FieldInfo) -> str:
    value = info.get_default()
    if value is None:
        return "none"
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    text = _plain(value)
    return f"`{text}`" if text else "empty"


def _plain(value: Any) -> str:  # noqa: ANN401 - defaults are of any type
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _meaning(info: FieldInfo) -> str:
    text = " ".join((info.description or "").split())
    bounds = [
        f"{sign} {getattr(rule, name):g}" for rule in info.metadata for name, sign in _BOUNDS if hasattr(rule, name)
    ]
    return text + (f" ({', '.join(bounds)})" if bounds else "")


_BOUNDS = (("gt", "&gt;"), ("ge", "&ge;"), ("lt", "&lt;"), ("le", "&le;"))


if __name__ == "__main__":
    sys.stdout.write(render())
