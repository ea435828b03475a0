"""`factsieve topics`: the topics of `schemas/asyncapi.yaml`, made and checked."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from factsieve.cli.connect import ConfigFile, StateDir, connect
from factsieve.cli.render import out
from factsieve.operations.connected import Connected

if TYPE_CHECKING:
    from factsieve.adapters.kafka_topics import KafkaTopics
    from factsieve.wire.topic_specs import TopicSpec

app = typer.Typer(
    no_args_is_help=True,
    help="Create and check the topics, as schemas/asyncapi.yaml describes them.",
    epilog="Example: factsieve topics create --replication 1",
)

Partitions = Annotated[
    int | None, typer.Option(min=1, max=10_000, help="Other than specified; growing it later takes a drained topic.")
]
Replication = Annotated[int | None, typer.Option(min=1, max=100, help="Other than specified: 1 for a single broker.")]


@app.command("create")
def create(
    partitions: Partitions = None,
    replication: Replication = None,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Create the topics that do not exist yet; those that do are left as they are.

    Example: factsieve topics create --replication 1
    """
    connected = connect(state_dir, config)
    created = create_topics(connected, partitions=partitions, replication=replication)
    for spec in specs_of(connected, partitions, replication):
        word = "created" if spec.name in created else "exists"
        out().print(f"{word:8} {spec.name}", markup=False)


@app.command("check")
def check(
    partitions: Partitions = None,
    replication: Replication = None,
    as_json: Annotated[bool, typer.Option("--json", help="The differences, by topic, as JSON.")] = False,
    state_dir: StateDir = None,
    config: ConfigFile = None,
) -> None:
    """Compare the topics on the brokers with what is specified; exit code 1 if they differ.

    Example: factsieve topics check --replication 1
    """
    from factsieve.adapters.kafka_topics import differences
    from factsieve.assembly.settings_checks import retention_problems

    connected = connect(state_dir, config)
    specs = specs_of(connected, partitions, replication)
    found = asyncio.run(_topics(connected).find([spec.name for spec in specs]))
    report = {spec.name: differences(spec, found.get(spec.name)) for spec in specs}
    for name in (connected.topics.candidates, connected.topics.dead_letters):
        if name in found:
            as_found = msgspec.structs.replace(
                next(spec for spec in specs if spec.name == name), configs=found[name].configs
            )
            report[name] += list(retention_problems(as_found, connected.settings.ledger_retention_d))
    if as_json:
        typer.echo(msgspec.json.encode(report).decode())
    else:
        for name, said in report.items():
            out().print(f"{'differs' if said else 'ok':8} {name}", markup=False)
            for line in said:
                out().print(f"         {line}", markup=False)
    if any(report.values()):
        raise typer.Exit(1)


def create_topics(connected: Connected, *, partitions: int | None = None, replication: int | None = None) -> list[str]:
    """Create the topics that do not exist, and return their names. Raises Transient."""
    return asyncio.run(_topics(connected).create(specs_of(connected, partitions, replication)))


def specs_of(connected: Connected, partitions: int | None, replication: int | None) -> "list[TopicSpec]":
    """Return what the topics are to be, with other numbers where they are given; the local stack's one broker keeps one replica."""
    from factsieve.wire.topic_specs import load_specs

    copies = 1 if replication is None and connected.local else replication
    return [
        msgspec.structs.replace(spec, partitions=partitions or spec.partitions, replicas=copies or spec.replicas)
        for spec in load_specs(connected.topics).values()
    ]


def _topics(connected: Connected) -> "KafkaTopics":
    from factsieve.adapters.kafka_topics import KafkaTopics

    return KafkaTopics(connected.kafka.address, connected.kafka.security)
