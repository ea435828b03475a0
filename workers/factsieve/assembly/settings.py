"""Settings: defaults, then `factsieve.toml`, then `FACTSIEVE_*` variables, then the command line, each over the one before."""

import contextlib
import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import msgspec
from pydantic import BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from factsieve.assembly.settings_downstream import DownstreamSettings
from factsieve.assembly.settings_groups import (
    ApiSettings,
    CommandSettings,
    EmbedderSettings,
    EngineSettings,
    JudgeSettings,
    KafkaSettings,
    LimitSettings,
    LogSettings,
    PolicySettings,
    QdrantSettings,
    RedisSettings,
    WorkerSettings,
)
from factsieve.core.errors import BadSettings
from factsieve.core.policy import Policies, Policy
from factsieve.core.profile import ThresholdProfile, decode_profile
from factsieve.wire.topics import Limits, Topics

ENV_PREFIX: Final = "FACTSIEVE_"
CONFIG_VARIABLE: Final = "FACTSIEVE_CONFIG"
DEFAULT_FILE: Final = Path("factsieve.toml")
OTHER_VARIABLES: Final = frozenset(
    {
        CONFIG_VARIABLE,
        "FACTSIEVE_SHARED",
        "FACTSIEVE_TEST_BROKER",
        "FACTSIEVE_REQUIRE_KAFKA",
        "FACTSIEVE_REQUIRE_BROWSER",
        "FACTSIEVE_FUZZ_EXAMPLES",
    }
)
"""Variables of the same prefix that are no settings: where the file is, and what the tests go by."""

ALIASES: Final[Mapping[str, str]] = {
    "memory.skipThreshold": "policy.skip_threshold",
    "memory.ambiguousThreshold": "policy.ambiguous_threshold",
    "memory.supersedeThreshold": "policy.supersede_threshold",
    "memory.supersedeScanLimit": "policy.supersede_scan_limit",
    "llm.decisionModel": "judge.model",
}
"""The reference's names for settings, accepted wherever ours are."""


class Settings(BaseSettings):
    """All settings of a process. Made by `load_settings`; built directly it holds exactly what it is given, and defaults."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, use_attribute_docstrings=True, env_prefix=ENV_PREFIX
    )

    kafka: KafkaSettings = KafkaSettings()
    """Kafka."""
    redis: RedisSettings = RedisSettings()
    """Redis."""
    qdrant: QdrantSettings = QdrantSettings()
    """Qdrant."""
    embedder: EmbedderSettings = EmbedderSettings()
    """The embedding model."""
    judge: JudgeSettings = JudgeSettings()
    """The judge."""
    policy: PolicySettings = PolicySettings()
    """The policy."""
    limits: LimitSettings = LimitSettings()
    """Limits of input."""
    engine: EngineSettings = EngineSettings()
    """The engine."""
    worker: WorkerSettings = WorkerSettings()
    """The worker."""
    log: LogSettings = LogSettings()
    """The log."""
    commands: CommandSettings = CommandSettings()
    """Operators' commands."""
    api: ApiSettings = ApiSettings()
    """The HTTP API."""
    downstream: DownstreamSettings = DownstreamSettings()
    """The cross-check with the downstream RAG."""
    ledger_retention_d: float = Field(default=90.0, gt=0)
    """How many days ledger records of skips are kept. Must be longer than the retention of the input and the dead letter topic."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take arguments only: which file and variables are read is said in one place, `load_settings`."""
        return (init_settings,)

    @property
    def topics(self) -> Topics:
        """Return the topics' names as the codec takes them."""
        return Topics(**self.kafka.topics.model_dump())

    def input_limits(self, embedding_model: str | None, embedding_dimension: int | None) -> Limits:
        """Return the limits of input, for the embedder in use."""
        return Limits(
            **self.limits.model_dump(),
            future_limit_s=self.policy.future_limit_s,
            embedding_model=embedding_model,
            embedding_dimension=embedding_dimension,
        )

    def policies(self) -> Policies:
        """Return the default policy and those of namespaces. Raises BadSettings where thresholds are out of order."""
        base = self.policy.model_dump(exclude={"namespaces", "profile_path"})
        default = Policy(**base)
        named = {}
        for name, own in self.policy.namespaces.items():
            try:
                named[name] = Policy(**(base | own.model_dump(exclude_none=True)))
            except BadSettings as error:
                raise BadSettings(f"policy.namespaces.{name}: {error}") from error
        return Policies(default, named)

    def threshold_profile(self) -> ThresholdProfile | None:
        """Return the threshold profile, if one is set. Raises BadSettings where it can not be read."""
        return None if self.policy.profile_path is None else read_profile(self.policy.profile_path)

    def command_keys(self) -> dict[str, bytes]:
        """Return the operators' keys as they sign and verify."""
        return {key_id: key.get_secret_value().encode("utf-8") for key_id, key in self.commands.keys.items()}

    def check(self) -> None:
        """Check what single fields can not: relations between settings. Raises BadSettings that lists every problem."""
        from factsieve.assembly.settings_checks import problems  # noqa: PLC0415 - it needs this class

        found = problems(self)
        if found:
            raise BadSettings(_listed("settings that do not fit together", found))

    def shown(self) -> dict[str, Any]:
        """Return all settings for people and logs, as JSON has it, secrets masked."""
        return self.model_dump(mode="json")


def load_settings(
    overrides: Mapping[str, object] | None = None,
    *,
    path: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings of this process; relations between them are checked too.

    `overrides`: dotted names to values, from the command line. `path`: the file to read; without it `FACTSIEVE_CONFIG`, else
    `factsieve.toml` where that exists. `environ`: the variables to read in place of the process's own. Raises BadSettings that lists
    every unknown name (with the nearest known one), unusable value and contradiction.
    """
    variables = os.environ if environ is None else environ
    layers = [
        _canonical(_read_file(path, variables), "the settings file"),
        _canonical(_read_environment(variables), "the environment"),
        _canonical(_nested(overrides or {}), "the command line"),
    ]
    merged: dict[str, Any] = {}
    for layer in layers:
        _merge(merged, layer)
    found = list(_unknown(merged))
    if found:
        raise BadSettings(_listed("settings that are not known", found))
    _merge_below(merged, _profile_layer(merged))
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        raise BadSettings(_listed("settings that can not be used", _explain(error, merged))) from None
    settings.check()
    return settings


def read_profile(path: Path) -> ThresholdProfile:
    """Return the threshold profile in a file. Raises BadSettings naming the file and what is wrong with it."""
    try:
        return decode_profile(path.read_bytes())
    except OSError as error:
        raise BadSettings(f"the threshold profile {path} can not be read: {error.strerror or error}") from None
    except BadSettings as error:
        raise BadSettings(f"the threshold profile {path} can not be used: {error}") from None


def parse_override(text: str) -> tuple[str, object]:
    """Return name and value of a `name=value` argument; the value is TOML, or a JSON object or list, or else plain text.

    Raises BadSettings.
    """
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise BadSettings(f"{text!r} is no setting: write name=value, for example kafka.bootstrap=localhost:9092")
    try:
        return name.strip(), tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        pass
    if value.lstrip().startswith(("{", "[")):  # as the same setting is written in a variable
        with contextlib.suppress(ValueError):
            return name.strip(), json.loads(value)
    return name.strip(), value


def setting_names() -> Iterator[tuple[str, type[BaseModel], str]]:
    """Yield every setting: dotted name, the group that declares it, its field name."""
    yield from _names(Settings, "")


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return ENV_PREFIX + name.replace(".", "__").upper()


def _names(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, type[BaseModel], str]]:
    for field, info in model.model_fields.items():
        group = info.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            yield from _names(group, f"{prefix}{field}.")
        else:
            yield f"{prefix}{field}", model, field


def _listed(title: str, found: Sequence[str]) -> str:
    return f"{title}:\n" + "\n".join(f"  - {line}" for line in found)


def _read_file(path: Path | None, variables: Mapping[str, str]) -> dict[str, Any]:
    named = path or (Path(variables[CONFIG_VARIABLE]) if variables.get(CONFIG_VARIABLE) else None)
    if named is None and not DEFAULT_FILE.is_file():
        return {}
    file = named or DEFAULT_FILE
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettings(f"the settings file {file} can not be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"the settings file {file} is not TOML: {error}") from None


class _Variables(EnvSettingsSource):
    """pydantic-settings' reading of variables, from a given mapping."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._given = {name.lower(): value for name, value in variables.items()}
        super().__init__(Settings, env_prefix=ENV_PREFIX, env_nested_delimiter="__")

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._given


def _read_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    mine = {name: value for name, value in variables.items() if value and name.upper().startswith(ENV_PREFIX)}
    known = {variable_of(name) for name, _, _ in setting_names()}
    aliases = {variable_of(alias): alias for alias in ALIASES}
    mappings = tuple(variable_of(name) + "__" for name, model, field in setting_names() if _is_mapping(model, field))
    structured = {variable_of(name) for name, model, field in setting_names() if _is_structured(model, field)}
    found, plain, named = [], {}, {}
    for name, value in mine.items():
        upper = name.upper()
        if upper in aliases:
            named[aliases[upper]] = value
        elif upper in known or upper.startswith(mappings):
            plain[name] = value
            if upper in structured and not _is_json(value):
                found.append(f'{name} is not JSON: write a list as ["a", "b"] and a table as {{"name": "value"}}')
        elif upper not in OTHER_VARIABLES:
            found.append(f"{name} is no setting" + _nearest(upper, [*known, *aliases, *OTHER_VARIABLES]))
    if found:
        raise BadSettings(_listed("variables that can not be used", found))
    try:
        values: dict[str, Any] = _Variables(plain)()
    except ValueError as error:
        raise BadSettings(f"the environment can not be read: {error}") from None
    _merge(values, _nested(named))
    return values


def _is_mapping(model: type[BaseModel], field: str) -> bool:
    return get_origin(model.model_fields[field].annotation) is dict


def _is_structured(model: type[BaseModel], field: str) -> bool:
    return get_origin(model.model_fields[field].annotation) in (dict, tuple)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _nested(dotted: Mapping[str, object]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in dotted.items():
        *groups, last = name.split(".")
        node = nested
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = value
    return nested


def _canonical(layer: dict[str, Any], origin: str) -> dict[str, Any]:
    """Return a layer with the reference's names replaced by ours. Raises BadSettings where both are there and differ."""
    for alias, name in ALIASES.items():
        old_group, old_field = alias.split(".")
        new_group, new_field = name.split(".")
        table = layer.get(old_group)
        if not isinstance(table, dict) or old_field not in table:
            continue
        value = table.pop(old_field)
        target = layer.setdefault(new_group, {})
        if target.setdefault(new_field, value) != value:
            raise BadSettings(f"{origin} gives {alias} = {value!r} and {name} = {target[new_field]!r}: leave one out")
        if not table:
            del layer[old_group]
    return layer


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    for name, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(name), dict):
            _merge(base[name], value)
        else:
            base[name] = _copied(value)


def _profile_layer(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the threshold profile that the settings name stands for: a layer above the defaults only."""
    policy = merged.get("policy")
    path = policy.get("profile_path") if isinstance(policy, Mapping) else None
    if not isinstance(path, str | Path) or not str(path):
        return {}
    return {"policy": read_profile(Path(path)).thresholds}


def _merge_below(base: dict[str, Any], under: Mapping[str, Any]) -> None:
    """Put values where there are none."""
    filled = {name: _copied(value) for name, value in under.items()}
    _merge(filled, base)
    base.update(filled)


def _copied(value: Any) -> Any:  # noqa: ANN401 - settings are of any type before they are checked
    return {name: _copied(item) for name, item in value.items()} if isinstance(value, Mapping) else value


def _unknown(merged: Mapping[str, Any], model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    known = [name for name, _, _ in setting_names()]
    for name, value in merged.items():
        dotted = prefix + name
        info = model.model_fields.get(name)
        if info is None:
            for leaf in _leaves(dotted, value):
                yield f"{leaf} is no setting" + _nearest(leaf, [*known, *ALIASES])
            continue
        group = info.annotation
        if isinstance(group, type) and issubclass(group, BaseModel) and isinstance(value, Mapping):
            yield from _unknown(value, group, f"{dotted}.")
        elif isinstance(value, Mapping) and _is_mapping(model, name):
            inner = get_args(group)[1]
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                for key, item in value.items():
                    if isinstance(item, Mapping):
                        for field in set(item) - set(inner.model_fields):
                            yield f"{dotted}.{key}.{field} is no setting" + _nearest(field, list(inner.model_fields))


def _leaves(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, Mapping) or not value:
        yield name
        return
    for field, item in value.items():
        yield from _leaves(f"{name}.{field}", item)


def _nearest(name: str, known: Sequence[str]) -> str:
    by_folded = {candidate.lower().replace(".", "_"): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower().replace(".", "_"), by_folded, n=1, cutoff=0.5)
    return f": did you mean {by_folded[near[0]]}?" if near else ""


def _explain(error: ValidationError, merged: Mapping[str, Any]) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_context=False):
        name = ".".join(str(part) for part in problem["loc"])
        given = "" if _is_secret(problem["loc"]) else _given(merged, problem["loc"])
        lines.append(f"{name}: {problem['msg']}{given}")
    return lines


def _given(merged: Mapping[str, Any], loc: Sequence[object]) -> str:
    node: Any = merged
    for part in loc:
        if not isinstance(node, Mapping) or part not in node:
            return ""
        node = node[part]
    return "" if isinstance(node, (Mapping, list)) else f" (given: {str(node)[:80]!r})"


def _is_secret(loc: Sequence[object]) -> bool:
    model: Any = Settings
    for part in loc:
        fields = getattr(model, "model_fields", {})
        if part not in fields:
            return True  # inside a mapping: may be one
        annotation = fields[part].annotation
        if any(_holds_secret(kind) for kind in (annotation, *get_args(annotation))):
            return True
        model = annotation
    return False


def _holds_secret(kind: object) -> bool:
    if any(_holds_secret(inner) for inner in get_args(kind)):
        return True
    return isinstance(kind, type) and (issubclass(kind, SecretStr) or hasattr(kind, "get_secret_value"))
