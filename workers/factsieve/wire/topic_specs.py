"""What the six topics are to be, read from `schemas/asyncapi.yaml`: partitions, replicas, configurations."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from factsieve.core.errors import Bug
from factsieve.wire.topics import Topics

FILE: Final = "asyncapi.yaml"
DEFAULT_MAX_MESSAGE_BYTES: Final = 1_048_588
"""What a broker allows where nothing is said."""


class TopicSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One topic as it is to be; `configs` by Kafka's names, all values as text."""

    name: str
    partitions: int
    replicas: int
    configs: Mapping[str, str]

    @property
    def retention_ms(self) -> int | None:
        """Return how long records are kept (-1: for ever), None for a topic that is only compacted."""
        value = self.configs.get("retention.ms")
        return None if value is None else int(value)

    @property
    def max_message_bytes(self) -> int:
        """Return the largest batch of records that the brokers take."""
        return int(self.configs.get("max.message.bytes", DEFAULT_MAX_MESSAGE_BYTES))


def schemas_folder() -> Traversable:
    """Return the folder of schemas: inside the installed package, in a source tree at the root of the repository."""
    packaged = files("factsieve") / "schemas"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parents[3] / "schemas"


def load_specs(topics: Topics | None = None) -> dict[str, TopicSpec]:
    """Return the topics' specifications by name, the names being those of `topics`.

    Raises Bug where the packaged file is missing or has another shape than the code expects.
    """
    mine, defaults = topics or Topics(), Topics()
    renamed = {getattr(defaults, field): getattr(mine, field) for field in Topics.__struct_fields__}
    specs = {}
    for channel in _channels().values():
        kafka = channel["bindings"]["kafka"]
        name = renamed.get(channel["address"])
        if name is None:
            raise Bug(f"{FILE} names the topic {channel['address']}, which the code does not know")
        configs = {key: _as_text(value) for key, value in kafka["topicConfiguration"].items()}
        specs[name] = TopicSpec(name=name, partitions=kafka["partitions"], replicas=kafka["replicas"], configs=configs)
    missing = set(renamed.values()) - set(specs)
    if missing:
        raise Bug(f"{FILE} says nothing of {', '.join(sorted(missing))}")
    return specs


@cache
def _channels() -> dict[str, Any]:
    try:
        document = yaml.safe_load((schemas_folder() / FILE).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise Bug(f"{FILE} can not be read: {error}") from error
    channels: dict[str, Any] = document["channels"]
    return channels


def _as_text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
